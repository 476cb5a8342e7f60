"""Reads a file of a source, in any format, into rows: every record gives exactly one, good or with its fault.

Knows no Spark, so that Spark's tasks, the simulator and tests read alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from jobs import delta_versions
from jobs.places import storage_fault
from jobs.reading.chunks import Broken, Chunk
from jobs.reading.csv_files import CsvFile
from jobs.reading.json_files import read_json
from jobs.reading.rows import ROWS, broken_rows, rows_of
from jobs.reading.table_files import chunks_of, delta_batches, parquet_batches
from jobs.streams import open_stream
from monitoring_lib.config import Source
from monitoring_lib.errors import DataError
from monitoring_lib.suggest import nearest

__all__ = ["ROWS", "read"]

Pieces = Iterator[tuple[Chunk, list[Broken]]]


def read(path: str, source: Source, batch_rows: int = 65_536) -> Iterator[pa.RecordBatch]:
    """The rows of a file in order, as batches of ROWS; DataError where the file as a whole cannot be read.

    Whoever keeps rows must keep none until the last batch has come: the fault may lie at the end.
    """
    try:
        for chunk, broken in _pieces(path, source):
            if len(chunk) or broken:
                yield from _batches(chunk, broken, source, batch_rows)
    except pa.ArrowException as error:
        raise DataError(f"{path}: cannot be read to its end ({error})") from error
    except OSError as error:
        raise storage_fault(path, error) from error


def _batches(chunk: Chunk, broken: list[Broken], source: Source, batch_rows: int) -> Iterator[pa.RecordBatch]:
    parts = [rows_of(chunk, source)] if len(chunk) else []
    if broken:
        whole = pa.Table.from_batches([*parts, broken_rows(broken)]).combine_chunks().sort_by("line")
        parts = whole.to_batches()
    for part in parts:
        for at in range(0, part.num_rows, batch_rows):
            yield part.slice(at, batch_rows)


def _pieces(path: str, source: Source) -> Pieces:
    needed = sorted(set().union(*(expression.columns for expression in source.expressions.values())))
    if source.format in ("parquet", "delta"):
        version = delta_versions.parse(path)
        if source.format == "delta" and version is None:
            raise DataError(f"{path}: is no version of a Delta table; the source's path is to name the table's folder")
        schema, batches = parquet_batches(path) if version is None else delta_batches(version)
        _refuse_missing(path, needed, schema.names)
        _refuse_nested(path, needed, schema)
        for chunk in chunks_of(batches):
            yield chunk, []
        return
    with open_stream(path) as stream:
        if not stream.peek(1):
            return
        if source.format == "json":
            for chunk in read_json(stream, needed):
                yield chunk, []
        else:
            file = CsvFile(stream, source.csv)
            if file.names:
                _refuse_missing(path, needed, file.names)
            yield from file.chunks()


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
