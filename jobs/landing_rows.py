"""What becomes of the rows of one file: an event of its epoch, or a row set aside with its reason.

Runs inside Spark's tasks. A file that cannot be read to its end gives one row with FILE_FAULT as its line, so
that the driver can leave the whole file out: nothing of a file lands unless all of it does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.files import FoundFile, is_as_found
from jobs.reading import read
from jobs.reading.rows import cut
from monitoring_lib.config import Source
from monitoring_lib.epochs import format_duration, format_time
from monitoring_lib.errors import DataError
from monitoring_lib.tables import EVENTS, Kind

FILE_FAULT = -1
PARSED = pa.schema(
    [
        *(EVENTS.schema.field(name).with_nullable(True) for name in EVENTS.columns),
        pa.field("path", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("raw", pa.string()),
    ]
)
PARSED_DDL = ", ".join(
    [f"{name} {column.kind}" for name, column in EVENTS.columns.items()]
    + [f"{name} {Kind.STRING}" for name in ("path", "reason", "raw")]
)
_DAY = 86_400_000_000


@dataclass(frozen=True)
class LandFiles:
    """The function that Spark maps over rows of (path, size, modified, digest)."""

    source: Source
    write: str
    latest: int
    """The last moment that is not in the future."""

    def __call__(self, files: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in files:
            for path, size, modified, digest in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                try:
                    for rows in read(path, self.source):
                        yield self._filed(rows, path, digest)
                    # Rows that came after the digest was taken would land again under the next one.
                    if not is_as_found(FoundFile(path, size, modified)):
                        raise DataError(
                            f"{path}: changed while it was landed; move files into place when they are complete"
                        )
                except DataError as error:
                    yield self._fault(path, digest, str(error))

    def _filed(self, rows: pa.RecordBatch, path: str, digest: str) -> pa.RecordBatch:
        count, clock = rows.num_rows, self.source.clock
        times = rows["time"].cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        starts = clock.origin + (times - clock.origin) // clock.length * clock.length
        reason = self._reasons(rows["fault"], times)
        constants = {"source": self.source.name, "digest": digest, "write": self.write, "path": path}
        columns = {name: pa.array([text] * count, pa.string()) for name, text in constants.items()}
        columns |= {name: rows[name] for name in ("time", "site", "item", "value", "fields", "line")}
        columns["epoch_start"] = pa.array(starts, pa.int64()).cast(pa.timestamp("us", "UTC"))
        columns["day"] = pa.array((starts // _DAY).astype(np.int32), pa.int32()).cast(pa.date32())
        columns["reason"] = reason
        columns["raw"] = self._raw(rows, reason)
        return pa.RecordBatch.from_arrays(
            [columns[name].cast(kind) for name, kind in zip(PARSED.names, PARSED.types, strict=True)],
            schema=PARSED,
        )

    def _reasons(self, faults: pa.Array, times: np.ndarray) -> pa.Array:
        good = faults.is_null()
        early = pc.and_(good, pa.array(times < self.source.origin))
        ahead = pc.and_(good, pa.array(times > self.latest))
        before = f"before the source's origin, {format_time(self.source.origin)}"
        future = f"in the future by more than the skew of {format_duration(self.source.skew)}"
        return pc.if_else(early, before, pc.if_else(ahead, future, faults))

    def _raw(self, rows: pa.RecordBatch, reason: pa.Array) -> pa.Array:
        """What stood in the file; of rows that could be read but have no epoch, what was read of them."""
        aside = pc.and_(reason.is_valid(), rows["raw"].is_null())
        read = rows.filter(aside).select(["time", "site", "item", "value", "fields"]).to_pylist()
        texts = [cut(json.dumps(row, ensure_ascii=False, default=str)) for row in read]
        return pc.replace_with_mask(rows["raw"], aside, pa.array(texts, pa.string()))

    def _fault(self, path: str, digest: str, reason: str) -> pa.RecordBatch:
        row = dict.fromkeys(PARSED.names) | {
            "source": self.source.name, "digest": digest, "line": FILE_FAULT, "write": self.write,
            "path": path, "reason": reason,
        }  # fmt: skip
        return pa.RecordBatch.from_pylist([row], PARSED)
