"""Rows of a file as landing files them: an event under its epoch, or a row that is set aside with its reason."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.input.reading.rows import cut
from monitoring_lib.config import Source
from monitoring_lib.epochs import format_duration, format_time
from monitoring_lib.tables import EVENTS, Kind

_GIVEN = ("source", "write")
"""The same in every row of a landing: Spark adds them."""
_FAULT = ("path", "reason", "kind", "fault_value", "raw")
FILED = pa.schema(
    [
        pa.field("file", pa.int64()),
        *(EVENTS.schema.field(name).with_nullable(True) for name in EVENTS.columns if name not in _GIVEN),
        *(pa.field(name, pa.string()) for name in _FAULT),
    ]
)
FILED_DDL = "file bigint, " + ", ".join(
    [f"{name} {column.kind}" for name, column in EVENTS.columns.items() if name not in _GIVEN]
    + [f"{name} {Kind.STRING}" for name in _FAULT]
)
_DAY = 86_400_000_000
_OWN = ("time", "site", "item", "value", "fields", "values")


TOO_LATE = "later than the horizon of"
"""The fault of a row that could be read, but whose epoch lies behind the horizon, begins with these words."""


@dataclass(frozen=True)
class AcceptedTimes:
    """Which times are taken: of epochs that are not too late, up to the last moment that is not in the future."""

    earliest: int | None
    latest: int


@dataclass
class Filing:
    """Files the rows of one file, and counts what becomes of them."""

    source: Source
    path: str
    digest: str
    taken: AcceptedTimes
    file: int = 0
    """The file's number in its landing."""
    first_line: int = 0
    """Added to the lines of the rows."""
    epochs: Counter[int] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)

    def filed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """A batch of ROWS as one of FILED."""
        count, clock = rows.num_rows, self.source.clock
        times = rows["time"].cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        starts = clock.origin + (times - clock.origin) // clock.length * clock.length
        reason = self._reasons(rows["fault"], times, starts)
        columns = {name: rows[name] for name in _OWN}
        columns["line"] = pc.add(rows["line"], self.first_line) if self.first_line else rows["line"]
        columns |= {"digest": pa.repeat(self.digest, count), "file": pa.repeat(self.file, count)}
        columns["epoch_start"] = pa.array(starts, pa.int64()).cast(pa.timestamp("us", "UTC"))
        columns["day"] = pa.array((starts // _DAY).astype(np.int32), pa.int32()).cast(pa.date32())
        columns |= {"reason": reason, "kind": pc.coalesce(rows["fault_kind"], reason)}
        columns |= {"fault_value": rows["fault_value"], "raw": self._raw(rows, reason)}
        columns["path"] = pc.if_else(reason.is_valid(), self.path, pa.scalar(None, pa.string()))
        self._count(starts, columns["kind"])
        return pa.RecordBatch.from_arrays(
            [columns[name].cast(kind) for name, kind in zip(FILED.names, FILED.types, strict=True)], schema=FILED
        )

    def _count(self, starts: np.ndarray, kinds: pa.Array) -> None:
        found, counts = np.unique(starts[kinds.is_null().to_numpy(zero_copy_only=False)], return_counts=True)
        for start, count in zip(found.tolist(), counts.tolist(), strict=True):
            self.epochs[start] += count
        if kinds.null_count < len(kinds):
            self.faults.update(kinds.drop_null().to_pylist())

    def _reasons(self, faults: pa.Array, times: np.ndarray, starts: np.ndarray) -> pa.Array:
        good = faults.is_null()
        early = pc.and_(good, pa.array(times < self.source.origin))
        ahead = pc.and_(good, pa.array(times > self.taken.latest))
        before = f"before the source's origin, {format_time(self.source.origin)}"
        future = f"in the future by more than the skew of {format_duration(self.source.skew)}"
        found = pc.if_else(early, before, pc.if_else(ahead, future, faults))
        if self.taken.earliest is None or self.source.late.horizon is None:
            return found
        beyond = pc.and_(found.is_null(), pa.array(starts < self.taken.earliest))
        too_late = f"{TOO_LATE} {format_duration(self.source.late.horizon)}: its epoch was sealed before"
        return pc.if_else(beyond, too_late, found)

    def _raw(self, rows: pa.RecordBatch, reason: pa.Array) -> pa.Array:
        """What stood in the file; of rows that could be read but have no epoch, what was read of them."""
        aside = pc.and_(reason.is_valid(), rows["raw"].is_null())
        if not pc.any(aside).as_py():
            return rows["raw"]
        read = rows.filter(aside).select(list(_OWN)).to_pylist()
        texts = [cut(json.dumps(row, ensure_ascii=False, default=str)) for row in read]
        return pc.replace_with_mask(rows["raw"], aside, pa.array(texts, pa.string()))
