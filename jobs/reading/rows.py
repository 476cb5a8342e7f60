"""From the columns of a file to rows of a source: time, site, item, value, other fields, or why not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.reading.chunks import LONGEST_RAW, Broken, Chunk
from jobs.reading.reasons import Reasons
from jobs.reading.texts import to_texts
from jobs.reading.times import TIMES, parse_times
from jobs.reading.values import parse_values
from monitoring_lib.config import Source
from monitoring_lib.expressions import Column, evaluate

FIELDS = pa.map_(pa.string(), pa.string())
ROWS = pa.schema(
    {
        "line": pa.int64(),
        "time": TIMES,
        "site": pa.string(),
        "item": pa.string(),
        "value": pa.int64(),
        "fields": FIELDS,
        "fault": pa.string(),
        "raw": pa.string(),
    }
)


def rows_of(chunk: Chunk, source: Source) -> pa.RecordBatch:
    """One row for each record of the chunk."""
    reasons, count = chunk.reasons, len(chunk)
    texts: dict[str, pa.Array] = {}

    def text(name: str) -> pa.Array:
        """A mapped column as texts."""
        expression = source.expressions[name]
        for column in expression.columns - texts.keys():
            texts[column] = to_texts(chunk.columns[column], column, reasons)
        return evaluate(expression, texts, count)

    def native(name: str) -> pa.Array:
        """A mapped column in the file's own type, if it has one that is no text."""
        expression = source.expressions[name]
        if isinstance(expression, Column):
            column = chunk.columns[expression.name]
            if pa.types.is_temporal(column.type) or pa.types.is_decimal(column.type) or _is_number(column.type):
                return column
        return text(name)

    site = _required("site", text("site"), reasons) if "site" in source.columns else None
    time = _required("time", parse_times(native("time"), source, reasons), reasons)
    item = _required("item", text("item"), reasons) if "item" in source.columns else None
    value = parse_values(native("value"), source.scale, reasons) if "value" in source.columns else None
    fields = _maps(source.fields, [text(name) for name in source.fields], count)
    faults, raw = _fault_columns(chunk)
    if reasons.by_row:
        time = pc.if_else(faults.is_null(), time, None)
    made = {"line": chunk.lines, "time": time, "site": site, "item": item, "value": value, "fields": fields}
    made |= {"fault": faults, "raw": raw}
    columns = (pa.nulls(count, part.type) if made[part.name] is None else made[part.name] for part in ROWS)
    return pa.RecordBatch.from_arrays(list(columns), schema=ROWS)


def broken_rows(broken: Sequence[Broken]) -> pa.RecordBatch:
    """Rows of records that could not be taken apart."""
    rows = [dict.fromkeys(ROWS.names) | {"line": row.line, "fault": row.reason, "raw": cut(row.raw)} for row in broken]
    return pa.RecordBatch.from_pylist(rows, schema=ROWS)


def cut(text: str) -> str:
    return text if len(text) <= LONGEST_RAW else text[:LONGEST_RAW]


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _required(name: str, column: pa.Array, reasons: Reasons) -> pa.Array:
    if column.null_count:
        for at in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)):
            reasons.add(int(at), f"{name} is empty")
    return column


def _maps(names: Sequence[str], columns: Sequence[pa.Array], count: int) -> pa.Array | None:
    """One map a row of the other mapped columns; a missing one is a null in it."""
    if not names:
        return None
    width = len(names)
    order = np.arange(count * width).reshape(width, count).T.ravel()
    values = pa.concat_arrays(columns).take(pa.array(order))
    keys = pa.array(np.tile(np.arange(width, dtype=np.int32), count))
    offsets = pa.array(np.arange(count + 1, dtype=np.int32) * width)
    return pa.MapArray.from_arrays(offsets, pa.array(names, pa.string()).take(keys), values, FIELDS)


def _fault_columns(chunk: Chunk) -> tuple[pa.Array, pa.Array]:
    if not chunk.reasons.by_row:
        return pa.nulls(len(chunk), pa.string()), pa.nulls(len(chunk), pa.string())
    faults: list[str | None] = [None] * len(chunk)
    raw: list[str | None] = [None] * len(chunk)
    for row, reason in chunk.reasons.by_row.items():
        faults[row], raw[row] = reason, cut(chunk.raw(row))
    return pa.array(faults, pa.string()), pa.array(raw, pa.string())
