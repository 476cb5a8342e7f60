"""A seal: the row of the ledger that lists the writes which count for one epoch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import pyarrow as pa

from monitoring_lib import __version__
from monitoring_lib.epochs import format_time, to_microseconds
from monitoring_lib.errors import DamagedTable
from monitoring_lib.tables import EPOCHS

LANDING = ""
"""What stands for the monitor in the seals of landings."""
REPLACED = "replaced"
"""Among the writes of a landing's seal, `replaced N DIGEST` names a write whose rows of that file no longer count."""


@dataclass(frozen=True)
class Seal:
    """One (source, monitor, epoch, revision). Its digest covers its content and its parent's digest.

    `writes` maps a step's output to the write that holds it; two of them, inbox and messages, are rows of the
    one table messages. `landing` is the number of the source's last landing that the content has seen.
    `version` is the ledger's commit that holds the seal; up to commit `checked` the chain before the run was known
    to hang together when it was planned. `run` is the run of Airflow that it comes from, if any.
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
    run: str = ""
    sealed_at: int = 0
    version: int = 0
    checked: int = 0
    code_version: str = __version__

    @property
    def replaced(self) -> list[tuple[str, str]]:
        """Of a landing: digest and write of the rows that it has put in the place of."""
        named = ((name.split(), write) for name, write in self.writes.items())
        return [(words[2], write) for words, write in named if words[0] == REPLACED]

    @property
    def digest(self) -> str:
        content = [
            self.source, self.monitor, self.epoch_start, sorted(self.digests.items()),
            sorted(self.missing_sites), sorted(self.joined_sites), self.parent, self.config_digest,
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]


def seal_rows(seals: Sequence[Seal]) -> pa.Table:
    rows = [
        {**asdict(seal), "digest": seal.digest}
        | {name: sorted(getattr(seal, name).items()) for name in ("writes", "digests", "counts", "times")}
        | {name: list(getattr(seal, name)) for name in ("missing_sites", "joined_sites")}
        for seal in seals
    ]
    return pa.Table.from_pylist(rows, EPOCHS.schema)


def from_rows(rows: pa.Table) -> list[Seal]:
    """The seals of rows of the ledger; DamagedTable where one does not say what it said when it was sealed."""
    names = [each.name for each in fields(Seal)]
    return [_from_row({name: row[name] for name in names}, row["digest"]) for row in rows.to_pylist()]


def _from_row(row: dict[str, Any], digest: str) -> Seal:
    for name in ("writes", "digests", "counts", "times"):
        row[name] = dict(row[name])
    for name in ("epoch_start", "sealed_at"):
        row[name] = to_microseconds(row[name])
    seal = Seal(**row)
    if seal.digest != digest:
        raise DamagedTable(
            f"{seal.monitor or seal.source}, epoch {format_time(seal.epoch_start)}, revision {seal.revision}: the table"
            " `epochs` is damaged: a seal's digest is not that of its content. Restore it from a copy"
        )
    return seal
