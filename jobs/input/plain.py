"""Which tables Spark's own reader may read: those whose columns mean the same to it as to `reading`.

Parquet files and versions of Delta tables. What is not listed here is read by `reading` as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyarrow import fs

from jobs.input import versions as delta_versions
from jobs.input.reading.table_files import open_parquet, open_version
from jobs.input.reading.times import PLACES
from jobs.input.storage import locate
from monitoring_lib.config import Source
from monitoring_lib.errors import DataError
from monitoring_lib.expressions import ColumnName, Expression

_TEXTS = {"string", "binary", "boolean", "tinyint", "smallint", "int", "bigint"}
_WHOLE = {"tinyint", "smallint", "int", "bigint"}
_BROKEN = {"float", "double"}
_LOCAL = {"timestamp_ntz", "date"}
"""Times that name no zone."""
_MOST_DIGITS = 18
_SAME_NAME = re.compile(r"(?:[a-z0-9]+:/)?(?:/(?![._])[A-Za-z0-9._=+-]+)+")
"""Paths that Spark neither escapes, nor takes for a pattern, nor leaves out."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of a table: the records `before` it, its own, and the values of its partition."""

    path: str
    before: int
    records: int
    parts: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlainTable:
    """The columns that events are made of, with their types as Spark spells them, and the files that hold them."""

    columns: Mapping[str, str]
    files: Sequence[DataFile]

    @property
    def records(self) -> int:
        return sum(file.records for file in self.files)


def plain_table(path: str, source: Source, needed: Sequence[str], storage: str) -> PlainTable | None:
    """The table at a path of `find`; None where only `reading` knows what it says.

    Spark must reach the path: on local disk, or in the kind of `storage` where it has its own tables.
    """
    if source.unpivot is not None or source.time_format not in PLACES:
        return None
    version = delta_versions.parse(path)
    if version is None:
        found, files = _of_file(path, source, needed)
    else:
        found, files = _of_version(version, needed)
    told = bool(files) and all(file.records >= 0 and _reachable(file.path, storage) for file in files)
    return PlainTable(found, files) if told and found.keys() == set(needed) and _fits(source, found) else None


def _of_file(path: str, source: Source, needed: Sequence[str]) -> tuple[dict[str, str], list[DataFile]]:
    file = open_parquet(path)
    found = _kinds(file.schema_arrow, needed) if source.format == "parquet" else {}
    for at in range(len(file.schema)):
        column = file.schema.column(at)
        if column.name in found and column.physical_type == "INT96":
            found[column.name] = "timestamp" if source.time_zone == "UTC" else ""
    return found, [DataFile(path, 0, file.metadata.num_rows)]


def _of_version(version: delta_versions.Version, needed: Sequence[str]) -> tuple[dict[str, str], list[DataFile]]:
    files = _files_of(version)
    found = _kinds(pa.schema(open_version(version).schema().to_arrow()), needed)
    parted = {name for file in files for name in file.parts}
    if not set(needed) - parted:
        return {}, files
    return found | {name: "" for name in parted & found.keys() if found[name] != "string"}, files


def _files_of(version: delta_versions.Version) -> list[DataFile]:
    """The data files of a version; -1 records where the log does not tell, or names differ from the table's."""
    plain = delta_versions.has_plain_names(str(version))
    files, before = [], 0
    for one in delta_versions.added(version):
        records = -1 if one.records is None or not plain else one.records
        path = f"{version.table}/{one.path}"
        system, inner, _ = locate(path)
        if system.get_file_info(inner).type == fs.FileType.NotFound:
            raise DataError(f"{version}: {one.path} is gone from the table; restore it, or use a copy of the table")
        files.append(DataFile(path, before, records, dict(one.parts)))
        before += records
    return files


def _reachable(path: str, storage: str) -> bool:
    scheme = path.partition("://")[0] if "://" in path else ""
    same = scheme == (storage.partition("://")[0] if "://" in storage else "")
    return (not scheme or same) and bool(_SAME_NAME.fullmatch(path))


def _alike(names: Iterable[str]) -> bool:
    """Whether two columns differ by nothing but capitals, of which Spark takes no notice."""
    lower = [name.lower() for name in names]
    return len(set(lower)) < len(lower) or "_metadata" in lower


def _kinds(schema: pa.Schema, needed: Iterable[str]) -> dict[str, str]:
    """Spark's names of the types of columns; nothing where it could mistake one for another."""
    if _alike(schema.names):
        return {}
    return {name: _kind(schema.field(name).type) for name in needed if name in schema.names}


def _kind(kind: pa.DataType) -> str:
    """Spark's name of a type, '' where it has none that reads alike."""
    if pa.types.is_dictionary(kind):
        return _kind(kind.value_type) if pa.types.is_string(kind.value_type) else ""
    if pa.types.is_timestamp(kind):
        return "" if kind.unit not in ("us", "ms") else "timestamp" if kind.tz else "timestamp_ntz"
    if pa.types.is_decimal128(kind):
        return f"decimal({kind.precision},{kind.scale})" if kind.precision <= _MOST_DIGITS and kind.scale >= 0 else ""
    if pa.types.is_string_view(kind):
        return "string"
    return {
        pa.string(): "string", pa.large_string(): "string", pa.binary(): "binary", pa.bool_(): "boolean",
        pa.int8(): "tinyint", pa.int16(): "smallint", pa.int32(): "int", pa.int64(): "bigint",
        pa.float32(): "float", pa.float64(): "double", pa.date32(): "date",
    }.get(kind, "")  # fmt: skip


def _fits(source: Source, kinds: Mapping[str, str]) -> bool:
    """Whether Spark has an expression for everything that an event is made of."""

    def texts(expression: Expression) -> bool:
        return all(kinds[name] in _TEXTS for name in expression.columns)

    def number(expression: Expression) -> bool:
        kind = kinds[expression.name] if isinstance(expression, ColumnName) else ""
        return kind in _WHOLE | _BROKEN or kind.startswith("decimal") or texts(expression)

    def moment(expression: Expression) -> bool:
        kind = kinds[expression.name] if isinstance(expression, ColumnName) else ""
        known = kind in _WHOLE | _BROKEN | {"timestamp"} or (kind in _LOCAL and source.time_zone == "UTC")
        return known or texts(expression)

    own = source.expressions
    values = [*([own["value"]] if "value" in own else []), *source.value_expressions.values()]
    others = [expression for name, expression in own.items() if name not in ("time", "value")]
    return moment(own["time"]) and all(map(number, values)) and all(map(texts, others))
