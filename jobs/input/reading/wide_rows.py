"""Wide rows: records with many readings, each of which becomes a row of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from jobs.input.reading.chunks import Chunk
from jobs.input.reading.reasons import Reason, Reasons
from jobs.input.reading.rows import FIELDS, VALUES, Mapped, batch_of, fault_columns, maps_of
from jobs.input.reading.times import TIMES
from jobs.input.reading.values import parse_values
from monitoring_lib.config import Source, Unpivot
from monitoring_lib.expressions import ColumnName

MOST_CELLS = 1_000_000
"""Cells that are taken apart at a time."""


def wide_rows_of(chunk: Chunk, source: Source, unpivot: Unpivot) -> Iterator[pa.RecordBatch]:
    """One row for each cell that holds something, and one for each record that is faulty as a whole.

    The line of a row is that of its record, times the number of columns, plus the position of its column.
    """
    for part in chunk.parts(max(1, MOST_CELLS // len(unpivot.columns))):
        yield _rows(part, source, unpivot)


def _rows(chunk: Chunk, source: Source, unpivot: Unpivot) -> pa.RecordBatch:
    mapped, count, width = Mapped(chunk, source), len(chunk), len(unpivot.columns)
    own, fields, further = mapped.own(), mapped.fields(), mapped.values()
    cells = [Reasons() for _ in unpivot.columns]
    numbers = [
        parse_values(mapped.native(ColumnName(name)), source.scale, reasons, name)
        for name, reasons in zip(unpivot.columns, cells, strict=True)
    ]
    faults = {row * width: reason for row, reason in chunk.reasons.by_row.items()}
    for position, reasons in enumerate(cells):
        for row, reason in reasons.by_row.items():
            if row not in chunk.reasons.by_row:
                faults[row * width + position] = reason
    at = _kept(numbers, chunk.reasons.by_row, faults, count)
    record, position_of = at // width, at % width
    rows = pa.array(record)
    made = {name: None if column is None else column.take(rows) for name, column in own.items()}
    made["line"] = pa.array(own["line"].to_numpy()[record] * width + position_of)  # type: ignore[union-attr]
    made["time"] = _times(own["time"].take(rows), position_of * source.step, at, faults)  # type: ignore[union-attr]
    made["value"] = pa.concat_arrays(numbers).take(pa.array(position_of * count + record))
    texts = {name: column.take(rows) for name, column in fields.items()}
    if unpivot.name is not None:
        texts[unpivot.name] = pa.array([str(position) for position in range(width)]).take(pa.array(position_of))
    made["fields"] = maps_of(dict(sorted(texts.items())), len(at), FIELDS)
    made["values"] = maps_of({name: column.take(rows) for name, column in further.items()}, len(at), VALUES)
    made |= fault_columns(faults, at.tolist(), lambda cell: chunk.raw(cell // width))
    return batch_of(made, len(at))


def _kept(numbers: list[pa.Array], whole: Mapping[int, Reason], faults: Mapping[int, Reason], count: int) -> np.ndarray:
    """The cells that become rows, record by record: those that hold a number, and the faulty ones."""
    kept = np.array([column.is_valid().to_numpy(zero_copy_only=False) for column in numbers]).T.reshape(count, -1)
    kept[list(whole)] = False
    cells = kept.ravel()
    cells[list(faults)] = True
    return np.flatnonzero(cells)


def _times(times: pa.Array, after: np.ndarray, at: np.ndarray, faults: Mapping[int, Reason]) -> pa.Array:
    moments = times.cast(pa.int64())
    lost = moments.is_null().to_numpy(zero_copy_only=False) | np.isin(at, list(faults))
    return pa.array(moments.fill_null(0).to_numpy(zero_copy_only=False) + after, mask=lost).cast(TIMES)
