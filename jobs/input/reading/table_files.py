"""Parquet files and versions of Delta tables, in their own types."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyarrow import dataset, parquet

from jobs.input import versions as delta_versions
from jobs.input.reading.chunks import Chunk
from jobs.input.storage import locate, storage_fault
from jobs.input.versions import Version
from monitoring_lib.errors import DataError


def parquet_batches(path: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The file's columns and its batches."""
    system, inner, _ = locate(path)
    try:
        file = parquet.ParquetFile(inner, filesystem=system)
    except OSError as error:
        raise storage_fault(path, error) from error
    except pa.ArrowException as error:
        raise DataError(f"{path}: is no Parquet file or is truncated ({error})") from error
    return file.schema_arrow, file.iter_batches()


def delta_batches(version: Version) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The table's columns, and the batches of what the version added."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    added = set(delta_versions.added_files(version))
    try:
        table = DeltaTable(version.table.replace("s3a://", "s3://", 1), version=version.number)
        whole = table.to_pyarrow_dataset()
    except (DeltaError, OSError) as error:
        raise DataError(f"{version}: cannot be opened ({error})") from error
    parts = [part for part in whole.get_fragments() if part.path.lstrip("/") in added]
    if len(parts) != len(added):
        raise DataError(f"{version}: {len(added) - len(parts)} of its files are gone from the table")
    chosen = dataset.FileSystemDataset(parts, whole.schema, whole.format, whole.filesystem)
    return whole.schema, chosen.to_batches(use_threads=False)


def chunks_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Chunk]:
    first = 1
    for batch in batches:
        lines = pa.array(range(first, first + batch.num_rows), pa.int64())
        first += batch.num_rows
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        yield Chunk(lines, columns, lambda row, batch=batch: _raw(batch, row))  # type: ignore[misc]


def _raw(batch: pa.RecordBatch, row: int) -> str:
    """A record as a JSON object."""
    return json.dumps(batch.slice(row, 1).to_pylist()[0], ensure_ascii=False, default=str)
