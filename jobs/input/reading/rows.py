"""From the columns of a file to rows of a source: time, site, item, values, other fields, or why not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.input.reading.chunks import LONGEST_RAW, BrokenRecord, Chunk
from jobs.input.reading.reasons import Reason, Reasons
from jobs.input.reading.texts import to_texts
from jobs.input.reading.times import TIMES, parse_times
from jobs.input.reading.values import parse_values
from monitoring_lib.config import Source
from monitoring_lib.expressions import ColumnName, Expression, evaluate

FIELDS = pa.map_(pa.string(), pa.string())
VALUES = pa.map_(pa.string(), pa.int64())
ROWS = pa.schema(
    {
        "line": pa.int64(),
        "time": TIMES,
        "site": pa.string(),
        "item": pa.string(),
        "value": pa.int64(),
        "fields": FIELDS,
        "values": VALUES,
        "fault": pa.string(),
        "fault_kind": pa.string(),
        "fault_value": pa.string(),
        "raw": pa.string(),
    }
)


class Mapped:
    """The columns of a chunk as a source maps them."""

    def __init__(self, chunk: Chunk, source: Source) -> None:
        self.chunk, self.source, self.reasons = chunk, source, chunk.reasons
        self._texts: dict[str, pa.Array] = {}

    def text(self, expression: Expression) -> pa.Array:
        """An expression's texts."""
        for column in expression.columns - self._texts.keys():
            self._texts[column] = to_texts(self.chunk.columns[column], column, self.reasons)
        return evaluate(expression, self._texts, len(self.chunk))

    def native(self, expression: Expression) -> pa.Array:
        """A column in the file's own type, if it has one that is no text."""
        if isinstance(expression, ColumnName):
            column = self.chunk.columns[expression.name]
            if pa.types.is_temporal(column.type) or pa.types.is_decimal(column.type) or _is_number(column.type):
                return column
        return self.text(expression)

    def own(self) -> dict[str, pa.Array | None]:
        """Site, time and item, and the fields and further values by name; None for what the source has not."""
        mapped, reasons = self.source.expressions, self.reasons
        site = _required("site", self.text(mapped["site"]), reasons) if "site" in mapped else None
        time = _required("time", parse_times(self.native(mapped["time"]), self.source, reasons), reasons)
        item = _required("item", self.text(mapped["item"]), reasons) if "item" in mapped else None
        return {"line": self.chunk.lines, "time": time, "site": site, "item": item}

    def fields(self) -> dict[str, pa.Array]:
        return {
            name: self.text(self.source.expressions[name]) for name in self.source.fields if name in self.source.columns
        }

    def values(self) -> dict[str, pa.Array]:
        """The further values."""
        scales = self.source.scales
        return {
            name: parse_values(self.native(expression), scales[name], self.reasons, name)
            for name, expression in sorted(self.source.value_expressions.items())
        }


def rows_of(chunk: Chunk, source: Source) -> pa.RecordBatch:
    """One row for each record of the chunk."""
    mapped, count = Mapped(chunk, source), len(chunk)
    made = mapped.own()
    value = source.expressions.get("value")
    made["value"] = None if value is None else parse_values(mapped.native(value), source.scale, chunk.reasons)
    made["fields"] = maps_of(mapped.fields(), count, FIELDS)
    made["values"] = maps_of(mapped.values(), count, VALUES)
    made |= fault_columns(chunk.reasons.by_row, range(count), chunk.raw)
    faults = made["fault"]
    if faults is not None:
        made["time"] = pc.if_else(faults.is_null(), made["time"], None)
    return batch_of(made, count)


def batch_of(made: Mapping[str, pa.Array | None], count: int) -> pa.RecordBatch:
    """Columns by name as a batch of ROWS; None stands for nulls."""
    columns = (pa.nulls(count, part.type) if made[part.name] is None else made[part.name] for part in ROWS)
    return pa.RecordBatch.from_arrays(list(columns), schema=ROWS)


def broken_rows(broken: Sequence[BrokenRecord], source: Source) -> pa.RecordBatch:
    """Rows of records that could not be taken apart."""
    width = 1 if source.unpivot is None else len(source.unpivot.columns)
    rows = [
        dict.fromkeys(ROWS.names) | {"line": row.line * width, "raw": cut(row.raw)} | _said(row.reason)
        for row in broken
    ]
    return pa.RecordBatch.from_pylist(rows, schema=ROWS)


def cut(text: str) -> str:
    return text if len(text) <= LONGEST_RAW else text[:LONGEST_RAW]


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _required(name: str, column: pa.Array, reasons: Reasons) -> pa.Array:
    if column.null_count:
        for at in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)):
            reasons.add(int(at), name, "is empty")
    return column


def maps_of(columns: Mapping[str, pa.Array], count: int, kind: pa.DataType) -> pa.Array | None:
    """One map a row of these columns, by name; a missing entry is a null in it."""
    if not columns:
        return None
    width = len(columns)
    order = np.arange(count * width).reshape(width, count).T.ravel()
    values = pa.concat_arrays(columns.values()).take(pa.array(order))
    keys = pa.array(np.tile(np.arange(width, dtype=np.int32), count))
    offsets = pa.array(np.arange(count + 1, dtype=np.int32) * width)
    return pa.MapArray.from_arrays(offsets, pa.array(list(columns), pa.string()).take(keys), values, kind)


def fault_columns(
    reasons: Mapping[int, Reason], rows: Sequence[int], raw: Callable[[int], str]
) -> dict[str, pa.Array | None]:
    """What is wrong with each of the rows, and its text; nothing where no row has a reason."""
    if not reasons:
        return dict.fromkeys((*_said(None), "raw"))
    said = [_said(reasons.get(row)) for row in rows]
    columns = {name: pa.array([one[name] for one in said], pa.string()) for name in _said(None)}
    texts = [cut(raw(row)) if row in reasons else None for row in rows]
    return columns | {"raw": pa.array(texts, pa.string())}


def _said(reason: Reason | None) -> dict[str, str | None]:
    """A reason as columns of ROWS."""
    text, kind, value = reason or (None, None, None)
    return {"fault": text, "fault_kind": kind, "fault_value": value}
