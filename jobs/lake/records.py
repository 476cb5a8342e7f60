"""The table `writes`: what each write holds of each epoch, with the digest that a reader checks it by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from jobs.lake.conditions import RowCondition
from jobs.lake.content import digest_groups
from jobs.lake.times import rows_by
from monitoring_lib.epochs import to_datetime, to_microseconds
from monitoring_lib.tables import MESSAGES, WRITES, Table

if TYPE_CHECKING:
    from jobs.lake import Lake

_SIZE = "payload_bytes"
_REMEMBERED = 8
"""Writes whose records a process keeps in mind."""


class Part(NamedTuple):
    """A part of a write: what it holds of one output, one owner (a monitor, a summary or a source) and one epoch.

    `method` is '' where rows are of none.
    """

    write: str
    output: str
    owner: str
    method: str
    epoch_start: int


def digest_key(output: str, of: str = "") -> str:
    """Under which a seal keeps a digest: by output, and by method, or summary of synopses, where there are any."""
    return f"{output}:{of}" if of else output


def record(table: Table, source: str, step: str, rows: pa.Table, write: str) -> list[dict[str, Any]]:
    """The records of rows that are in this process: one a `Part`.

    Messages of round 0 are recorded as `inbox`, later ones as `messages`, whichever step wrote them.
    """
    if not rows.num_rows:
        return []
    if table is not MESSAGES:
        return _records(table, table.name, source, step, rows, write)
    first = pc.equal(rows["round"], 0)
    return [
        *_records(table, "inbox", source, step, rows.filter(first), write),
        *_records(table, "messages", source, step, rows.filter(pc.invert(first)), write),
    ]


def _records(table: Table, output: str, source: str, step: str, rows: pa.Table, write: str) -> list[dict[str, Any]]:
    names, owner = rows.column_names, owner_column(table)
    by = [owner, *(["method"] if "method" in names else []), "epoch_start"]
    now = datetime.now(UTC)
    groups = sorted(rows_by(rows, *by).items(), key=itemgetter(0))
    digests = digest_groups(table, [group for _, group in groups])
    return [
        {
            "source": source, "owner": own, "method": "".join(method),
            "epoch_start": to_datetime(epoch_start), "step": step, "table": output,
            "rows": group.num_rows, "bytes": _payload_bytes(group),
            "shipping": int(pc.sum(group["shipping"]).as_py() or 0) if "shipping" in names else 0,
            "digest": digest, "finished_at": now, "write": write,
        }
        for ((own, *method, epoch_start), group), digest in zip(groups, digests, strict=True)
    ]  # fmt: skip


def owner_column(table: Table) -> str:
    """Of a table whose rows are recorded by parts, the column that names the owner of each."""
    return next(name for name in ("summary", "monitor", "source") if name in table.columns)


def recorded(lake: Lake, writes: Iterable[str], span: Iterable[RowCondition]) -> dict[Part, dict[str, Any]]:
    """The records of these writes and epochs."""
    return {part_of(row): row for row in lake.of_writes(WRITES, list(writes), span).to_pylist()}


def recorded_once(lake: Lake, write: str, span: Iterable[RowCondition]) -> dict[Part, dict[str, Any]]:
    """The same of one write that is finished: all monitors of a run ask for the same."""
    key = write, tuple(span)
    if key not in lake.recorded_before:
        while len(lake.recorded_before) >= _REMEMBERED:
            del lake.recorded_before[next(iter(lake.recorded_before))]
        lake.recorded_before[key] = recorded(lake, [write], key[1])
    return lake.recorded_before[key]


def part_of(row: Mapping[str, Any]) -> Part:
    """The part that a record is about."""
    return Part(row["write"], row["table"], row["owner"], row["method"], to_microseconds(row["epoch_start"]))


def _payload_bytes(rows: pa.Table) -> int:
    """Of messages what crossed, of others what is stored."""
    for name in ("bytes", _SIZE):
        if name in rows.column_names:
            return int(pc.sum(rows[name]).as_py() or 0)
    if "payload" not in rows.column_names:
        return 0
    return int(pc.sum(pc.binary_length(rows["payload"])).as_py() or 0)
