"""Reads a file of a source, in any format, into rows: every record gives exactly one, good or with its fault.

Of a wide record every cell that holds something gives one.

Knows no Spark, so that Spark's tasks, the simulator and tests read alike.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from jobs.input import versions as delta_versions
from jobs.input.content import ReadContent
from jobs.input.reading.chunks import BrokenRecord, Chunk
from jobs.input.reading.csv_files import CsvFile
from jobs.input.reading.json_files import first_keys, read_json
from jobs.input.reading.rows import ROWS, broken_rows, rows_of
from jobs.input.reading.table_files import chunks_of_batches, delta_batches, parquet_batches
from jobs.input.reading.wide_rows import wide_rows_of
from jobs.input.storage import storage_fault
from jobs.input.streams import Stream, open_stream
from monitoring_lib.config import CsvOptions, Source
from monitoring_lib.errors import DataError
from monitoring_lib.suggest import nearest

__all__ = ["ROWS", "column_names", "needed_columns", "read"]

_DAMAGED = re.compile("deserializ|corrupt|decompress|end of stream", re.IGNORECASE)
"""What Arrow says of a file whose pages cannot be read, under the class of errors of storage."""
Pieces = Iterator[tuple[Chunk, list[BrokenRecord]]]


def read(
    path: str, source: Source, batch_rows: int = 65_536, taken: ReadContent | None = None,
    lines: NDArray[np.int64] | None = None,
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    """The rows of a file in order, as batches of ROWS; DataError where the file as a whole cannot be read.

    Whoever keeps rows must keep none until the last batch has come: the fault may lie at the end. Where the content
    of the file has been `taken` before, it is read from there; lines count from 1 all the same. Of a table, `lines`
    picks some, in order.
    """
    try:
        for chunk, broken in _pieces(path, source, taken, lines):
            if len(chunk) or broken:
                yield from _batches(chunk, broken, source, batch_rows)
    except pa.ArrowException as error:
        raise DataError(f"{path}: cannot be read to its end ({error})") from error
    except OSError as error:
        if source.format in ("parquet", "delta") and _DAMAGED.search(str(error)):
            raise DataError(f"{path}: is damaged inside ({str(error).splitlines()[0]}); send it again") from error
        raise storage_fault(path, error) from error


def column_names(path: str, source: Source) -> list[str]:
    """The columns that a file has; of JSON, those of its first record."""
    try:
        if source.format in ("parquet", "delta"):
            return list(_table_batches(path, source)[0].names)
        with open_stream(path) as stream:
            if not stream.peek(1):
                return []
            return first_keys(stream) if source.format == "json" else CsvFile(stream, source.csv).names
    except pa.ArrowException as error:
        raise DataError(f"{path}: cannot be read ({error})") from error


def _batches(chunk: Chunk, broken: list[BrokenRecord], source: Source, batch_rows: int) -> Iterator[pa.RecordBatch]:
    parts: list[pa.RecordBatch] = []
    if len(chunk):
        wide = source.unpivot
        parts = [rows_of(chunk, source)] if wide is None else list(wide_rows_of(chunk, source, wide))
    if broken:
        whole = pa.Table.from_batches([*parts, broken_rows(broken, source)]).combine_chunks().sort_by("line")
        parts = whole.to_batches()
    for part in parts:
        for at in range(0, part.num_rows, batch_rows):
            yield part.slice(at, batch_rows)


def _pieces(path: str, source: Source, taken: ReadContent | None, lines: NDArray[np.int64] | None) -> Pieces:
    needed = needed_columns(source)
    if source.format in ("parquet", "delta"):
        schema, batches = _table_batches(path, source)
        _refuse_unfit(path, needed, schema)
        for chunk in chunks_of_batches(batches, lines):
            yield chunk, []
        return
    with open_stream(path) if taken is None else taken.stream() as stream:
        if not stream.peek(1):
            return
        if source.format == "json":
            for chunk in read_json(stream, needed):
                yield chunk, []
        else:
            file = CsvFile(stream, _layout(source, taken))
            if file.names:
                _refuse_missing(path, needed, file.names)
            yield from file.chunks()


def _layout(source: Source, taken: ReadContent | None) -> CsvOptions:
    """How the CSV is laid out; what follows landed content has its header there."""
    if taken is None or taken.goes_on_from is None or source.csv.header is not True:
        return source.csv
    names = CsvFile(Stream(taken.path, io.BytesIO(taken.head)), source.csv).names
    return source.csv.model_copy(update={"header": names})


def _table_batches(path: str, source: Source) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    version = delta_versions.parse(path)
    if source.format == "delta" and version is None:
        raise DataError(f"{path}: is no version of a Delta table; the source's path is to name the table's folder")
    return parquet_batches(path) if version is None else delta_batches(version)


def needed_columns(source: Source) -> list[str]:
    """The columns of a file that its rows are made of."""
    mapped = [*source.expressions.values(), *source.value_expressions.values()]
    wide = source.unpivot.columns if source.unpivot is not None else ()
    return sorted(set(wide).union(*(expression.columns for expression in mapped)))


def _refuse_unfit(path: str, needed: list[str], schema: pa.Schema) -> None:
    _refuse_missing(path, needed, schema.names)
    _refuse_nested(path, needed, schema)


def _refuse_missing(path: str, needed: Iterable[str], names: list[str]) -> None:
    for name in needed:
        if name not in names:
            hint = nearest(name, names) if len(names) <= 50 else ""
            raise DataError(f"{path}: has no column {name!r}{hint}; its columns: {', '.join(names)[:500]}")


def _refuse_nested(path: str, needed: Iterable[str], schema: pa.Schema) -> None:
    for name in needed:
        if pa.types.is_nested(schema.field(name).type):
            kind = schema.field(name).type
            raise DataError(f"{path}: column {name!r} holds {kind}; name a column of plain values")
