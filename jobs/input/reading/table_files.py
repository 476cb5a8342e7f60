"""Parquet files and versions of Delta tables, in their own types."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import dataset, parquet

from jobs.input import versions as delta_versions
from jobs.input.reading.chunks import Chunk
from jobs.input.storage import locate, storage_fault
from jobs.input.versions import Version
from monitoring_lib.errors import DataError

if TYPE_CHECKING:
    from deltalake import DeltaTable


def parquet_batches(path: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The file's columns and its batches."""
    file = open_parquet(path)
    return file.schema_arrow, file.iter_batches()


def open_parquet(path: str) -> parquet.ParquetFile:
    """DataError where it is none."""
    system, inner, _ = locate(path)
    try:
        return parquet.ParquetFile(inner, filesystem=system)
    except OSError as error:
        raise storage_fault(path, error) from error
    except pa.ArrowException as error:
        raise DataError(f"{path}: is no Parquet file or is truncated ({error})") from error


def delta_batches(version: Version) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The table's columns, and the batches of what the version added, file by file as its log names them."""
    from deltalake.exceptions import DeltaError

    added = {path: at for at, path in enumerate(delta_versions.added_files(version))}
    try:
        whole = open_version(version).to_pyarrow_dataset()
    except (DeltaError, OSError) as error:
        raise DataError(f"{version}: cannot be opened ({error})") from error
    parts = [part for part in whole.get_fragments() if part.path.lstrip("/") in added]
    if len(parts) != len(added):
        raise DataError(f"{version}: {len(added) - len(parts)} of its files are gone from the table")
    parts.sort(key=lambda part: added[part.path.lstrip("/")])
    chosen = dataset.FileSystemDataset(parts, whole.schema, whole.format, whole.filesystem)
    return whole.schema, chosen.to_batches(use_threads=False)


def open_version(version: Version) -> DeltaTable:
    """The table as it was in a version; DataError where it cannot be opened."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    try:
        return DeltaTable(version.table.replace("s3a://", "s3://", 1), version=version.number)
    except (DeltaError, OSError) as error:
        raise DataError(f"{version}: cannot be opened ({error})") from error


def chunks_of_batches(batches: Iterable[pa.RecordBatch], wanted: NDArray[np.int64] | None = None) -> Iterator[Chunk]:
    """The records with their lines; only those of the `wanted` lines, in order, where some are."""
    first = 1
    for whole in batches:
        lines = np.arange(first, first + whole.num_rows)
        first += whole.num_rows
        batch = whole
        if wanted is not None:
            lines = wanted[np.searchsorted(wanted, lines[0]) : np.searchsorted(wanted, first)] if len(lines) else lines
            batch = whole.take(pa.array(lines - (first - whole.num_rows)))
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        yield Chunk(pa.array(lines, pa.int64()), columns, lambda row, batch=batch: _raw(batch, row))  # type: ignore[misc]


def _raw(batch: pa.RecordBatch, row: int) -> str:
    """A record as a JSON object."""
    return json.dumps(batch.slice(row, 1).to_pylist()[0], ensure_ascii=False, default=str)
