"""A seal: the row of the ledger that names the writes which are the truth of one epoch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import pyarrow as pa

from monitoring_lib import __version__
from monitoring_lib.epochs import to_microseconds
from monitoring_lib.tables import EPOCHS

LANDING = ""
"""What stands for the monitor in the seals of landings."""


@dataclass(frozen=True)
class Seal:
    """One (source, monitor, epoch, revision). Its digest covers its content and its parent's digest.

    `writes` maps a step's output to the write that holds it; two of them, inbox and messages, are rows of the
    one table messages. `landing` is the number of the source's last landing that the content has seen.
    """

    source: str
    monitor: str
    epoch_start: int
    revision: int
    write: str
    writes: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    missing_sites: Sequence[str] = ()
    joined_sites: Sequence[str] = ()
    parent: str = ""
    landing: int = 0
    config_digest: str = ""
    config: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    times: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    sealed_at: int = 0
    code_version: str = __version__

    @property
    def digest(self) -> str:
        content = [
            self.source, self.monitor, self.epoch_start, sorted(self.digests.items()),
            sorted(self.missing_sites), sorted(self.joined_sites), self.parent, self.config_digest,
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]


def to_rows(seals: Sequence[Seal]) -> pa.Table:
    rows = [
        {**asdict(seal), "digest": seal.digest}
        | {name: sorted(getattr(seal, name).items()) for name in ("writes", "digests", "counts", "times")}
        | {name: list(getattr(seal, name)) for name in ("missing_sites", "joined_sites")}
        for seal in seals
    ]
    return pa.Table.from_pylist(rows, EPOCHS.schema)


def from_rows(rows: pa.Table) -> list[Seal]:
    names = [each.name for each in fields(Seal)]
    return [_from_row({name: row[name] for name in names}) for row in rows.to_pylist()]


def _from_row(row: dict[str, Any]) -> Seal:
    for name in ("writes", "digests", "counts", "times"):
        row[name] = dict(row[name])
    for name in ("epoch_start", "sealed_at"):
        row[name] = to_microseconds(row[name])
    return Seal(**row)
