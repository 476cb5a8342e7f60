"""Rows of small data files, read once for as long as their table is open.

A step asks a table dozens of questions about the same few epochs, and the engine opens every file anew for each of
them. A data file never changes, so what was read of it holds. Large files, and tables in an object store, are the
engine's: it reads only the columns and pages that it needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from weakref import finalize

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

from jobs.lake.conditions import RowCondition, WholeNumber, meeting
from monitoring_lib.tables import Table

_SMALL = 1 << 20
"""Bytes of a file, packed."""
_WHOLE = 1 << 17
"""Bytes of a file of which all columns are read at once; of a larger one only those that are asked for."""
_MOST_KEPT = 64 << 20
"""Bytes of rows that are kept of all tables together: a long range opens them once."""
_BOUNDED = ("epoch_start", "monitor", "version")
_ROUNDING = 1_000
"""Microseconds: Spark rounds the bounds of times to milliseconds."""


@dataclass
class _KeptTable:
    """What is known of an open table: its files as of a version, and the rows of those that were read."""

    version: int = -1
    files: pa.Table | None = None
    """As delta-rs lists them: path, size, values of the partition, bounds of columns."""
    rows: dict[str, pa.Table] = field(default_factory=dict)
    size: int = 0

    def files_for(self, conditions: Sequence[RowCondition]) -> list[dict[str, Any]]:
        """Those that may hold rows which meet all conditions."""
        assert self.files is not None
        found = self.files
        for column, comparison, value in conditions:
            if column in _BOUNDED and comparison != "in" and f"min.{column}" in found.column_names:
                found = found.filter(_may_meet(found, column, comparison, value))
        others = [name for name in found.column_names if name.startswith("partition.")]
        return list(found.select(["path", "size_bytes", *others]).to_pylist())

    def of_file(self, file: Mapping[str, Any], folder: Path, table: Table, columns: Sequence[str]) -> pa.Table:
        """Its rows, with these columns at least."""
        path = file["path"]
        rows = self.rows.get(path)
        wanted = table.schema.names if file["size_bytes"] <= _WHOLE else columns
        known = () if rows is None else rows.column_names
        missing = [name for name in wanted if name not in known]
        if missing:
            if sum(kept.size for kept in _kept.values()) > _MOST_KEPT:
                for kept in _kept.values():
                    kept.forget()
                rows, missing = None, list(wanted)
            read = _read(folder, file, table, missing)
            self.size += read.nbytes
            rows = self.rows[path] = read if rows is None else _beside(rows, read)
        assert rows is not None
        return rows

    def forget(self) -> None:
        """Rows that are asked for again are read again."""
        self.rows.clear()
        self.size = 0


_kept: dict[int, _KeptTable] = {}
"""By the identity of the open table: delta-rs's own has no hash."""


def kept_rows(
    found: DeltaTable, table: Table, conditions: Sequence[RowCondition], columns: Sequence[str]
) -> pa.Table | None:
    """The rows that meet all conditions, None where the engine is the one to read them.

    That is also where a file cannot be read: the engine's own error is the one that `jobs.lake.trouble` knows.
    """
    address = urlsplit(found.table_uri)
    if address.scheme not in ("", "file"):
        return None
    kept = _known(found)
    needed = kept.files_for(conditions)
    if any(file["size_bytes"] > _SMALL for file in needed):
        return None
    folder = Path(unquote(address.path))
    used = list(dict.fromkeys([*columns, *(column for column, _, _ in conditions)]))
    try:
        parts = [kept.of_file(file, folder, table, used).select(used) for file in needed]
    except (OSError, KeyError, pa.ArrowException):
        return None
    rows = pa.concat_tables([table.schema.empty_table().select(used), *parts])
    return meeting(rows, conditions).select(list(columns))


def _known(found: DeltaTable) -> _KeptTable:
    if id(found) not in _kept:
        _kept[id(found)] = _KeptTable()
        finalize(found, _kept.pop, id(found), None)
    kept = _kept[id(found)]
    if kept.version != found.version():
        kept.files, kept.version = pa.table(found.get_add_actions(flatten=True)), found.version()
    return kept


def _may_meet(files: pa.Table, column: str, comparison: str, value: Any) -> pa.ChunkedArray:
    """Where the bounds of a column leave room for the value; a file that has none may hold anything."""
    plain = value.value if isinstance(value, WholeNumber) else value
    wider = _ROUNDING if pa.types.is_timestamp(files[f"min.{column}"].type) else 0
    met = [
        pc.fill_null(compare(bound, pa.scalar(plain + sign * wider if wider else plain, bound.type)), True)
        for compare, bound, sign, needed in (
            (pc.less_equal, files[f"min.{column}"], 1, ("=", "<", "<=")),
            (pc.greater_equal, files[f"max.{column}"], -1, ("=", ">", ">=")),
        )
        if comparison in needed
    ]
    return reduce(pc.and_, met)


def _read(folder: Path, file: Mapping[str, Any], table: Table, names: Sequence[str]) -> pa.Table:
    stored = [name for name in names if f"partition.{name}" not in file]
    with pq.ParquetFile(folder / unquote(file["path"])) as opened:
        count = opened.metadata.num_rows
        rows = opened.read(columns=stored, use_threads=False)
    columns = [rows[name] if name in stored else pa.repeat(file[f"partition.{name}"], count) for name in names]
    return pa.table(columns, names=names).cast(pa.schema([table.schema.field(name) for name in names]))


def _beside(rows: pa.Table, more: pa.Table) -> pa.Table:
    """The columns of both."""
    for field_, column in zip(more.schema, more.columns, strict=True):
        rows = rows.append_column(field_, column)
    return rows
