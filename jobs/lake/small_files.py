"""Rows of small data files, read once for as long as their table is open.

A step asks a table dozens of questions about the same few epochs, and the engine opens every file anew for each of
them. A data file never changes, so what was read of it holds. Large files, and tables in an object store, are the
engine's: it reads only the columns and pages that it needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from weakref import finalize

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from jobs.lake.conditions import RowCondition, WholeNumber, meeting
from monitoring_lib.tables import Table

_SMALL = 1 << 20
"""Bytes of a file, packed."""
_MOST_KEPT = 64 << 20
"""Bytes of rows that are kept of one table."""
_BOUNDED = ("epoch_start", "monitor", "version")
_ROUNDING = 1_000
"""Microseconds: Spark rounds the bounds of times to milliseconds."""


@dataclass(frozen=True, slots=True)
class _SmallFile:
    """A file of the table's present version, with the least and the greatest value of some columns."""

    path: str
    size: int
    partition: dict[str, Any]
    bounds: dict[str, tuple[Any, Any]]

    def may_meet(self, conditions: Sequence[RowCondition]) -> bool:
        return all(self._may_meet(*condition) for condition in conditions)

    def _may_meet(self, column: str, comparison: str, value: Any) -> bool:
        if column not in self.bounds or comparison == "in":
            return True
        asked = value.value if isinstance(value, WholeNumber) else value
        least, greatest = self.bounds[column]
        from_below = comparison not in ("=", "<", "<=") or least <= asked
        return bool(from_below and (comparison not in ("=", ">", ">=") or asked <= greatest))


@dataclass
class _KeptTable:
    """What is known of an open table: its files as of a version, and the rows of those that were read."""

    version: int = -1
    files: list[_SmallFile] = field(default_factory=list)
    rows: dict[str, pa.Table] = field(default_factory=dict)
    size: int = 0

    def of_file(self, file: _SmallFile, folder: Path, table: Table) -> pa.Table:
        if file.path not in self.rows:
            if self.size > _MOST_KEPT:
                self.rows.clear()
                self.size = 0
            self.rows[file.path] = read = _read(folder, file, table)
            self.size += read.nbytes
        return self.rows[file.path]


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
    needed = [file for file in kept.files if file.may_meet(conditions)]
    if any(file.size > _SMALL for file in needed):
        return None
    folder = Path(unquote(address.path))
    try:
        parts = [kept.of_file(file, folder, table) for file in needed]
    except (OSError, KeyError, pa.ArrowException):
        return None
    used = list(dict.fromkeys([*columns, *(column for column, _, _ in conditions)]))
    rows = pa.concat_tables([table.schema.empty_table(), *parts]).select(used)
    return meeting(rows, conditions).select(list(columns))


def _known(found: DeltaTable) -> _KeptTable:
    if id(found) not in _kept:
        _kept[id(found)] = _KeptTable()
        finalize(found, _kept.pop, id(found), None)
    kept = _kept[id(found)]
    if kept.version != found.version():
        kept.files, kept.version = list(_files_of(found)), found.version()
    return kept


def _files_of(found: DeltaTable) -> Iterator[_SmallFile]:
    known = pa.table(found.get_add_actions(flatten=True))
    ends = {
        name: (_plain(known[f"min.{name}"], -_ROUNDING), _plain(known[f"max.{name}"], _ROUNDING))
        for name in _BOUNDED if f"min.{name}" in known.column_names
    }  # fmt: skip
    parts = [name for name in known.column_names if name.startswith("partition.")]
    for at, (path, size) in enumerate(zip(known["path"].to_pylist(), known["size_bytes"].to_pylist(), strict=True)):
        bounds = {name: (least[at], greatest[at]) for name, (least, greatest) in ends.items()}
        yield _SmallFile(
            unquote(path), size, {name.partition(".")[2]: known[name][at].as_py() for name in parts},
            {name: pair for name, pair in bounds.items() if None not in pair},
        )  # fmt: skip


def _plain(bounds: pa.ChunkedArray, wider: int) -> list[Any]:
    """Times as microseconds, a little wider than they are given."""
    if not pa.types.is_timestamp(bounds.type):
        return list(bounds.to_pylist())
    return [None if one is None else one + wider for one in bounds.cast(pa.int64()).to_pylist()]


def _read(folder: Path, file: _SmallFile, table: Table) -> pa.Table:
    with pq.ParquetFile(folder / file.path) as opened:
        rows = opened.read(use_threads=False)
    columns = [
        pa.repeat(file.partition[name], rows.num_rows) if name in file.partition else rows[name]
        for name in table.schema.names
    ]
    return pa.table(columns, names=table.schema.names).cast(table.schema)
