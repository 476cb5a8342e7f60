"""What nodes publish and what the judge finds, in columns from the role to the table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class Answer:
    """One row of what a node publishes: ``low <= exact <= high``, always if `confidence` is 1.

    `tick` is the moment it holds for, `key` the item, query or quantile ('' for a single number). Numbers are
    in units of the measure. `partial` says that data which belongs to the answer is known to be missing.
    """

    node: str
    tick: int
    key: str
    rank: int | None
    estimate: float
    low: float
    high: float
    confidence: float = 1.0
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judge's finding on one row, or on an answer as a whole (key '')."""

    node: str
    tick: int
    key: str
    promise: str
    exact: float
    error: float
    allowed: float
    kept: bool
    confidence: float = 1.0
    """That of the promise: 1 means that it may never be broken."""


Row = TypeVar("Row")


@dataclass(frozen=True, eq=False)
class _ColumnarRows(Generic[Row]):
    """Rows of one kind as an Arrow table; iterating makes an object of each."""

    table: pa.Table
    kind: ClassVar[type[Any]]
    schema: ClassVar[pa.Schema]

    @classmethod
    def of(cls, rows: Iterable[Row] = ()) -> Self:
        """From objects, where there are few."""
        cells = attrgetter(*cls.schema.names)
        columns = list(zip(*map(cells, rows), strict=True)) or [()] * len(cls.schema)
        arrays = [
            pa.array(map(float, column) if each.type == pa.float64() else column, each.type)
            for column, each in zip(columns, cls.schema, strict=True)
        ]
        return cls(pa.Table.from_arrays(arrays, schema=cls.schema))

    @classmethod
    def columns(cls, rows: int, columns: Mapping[str, Any]) -> Self:
        """From columns (arrays or lists) of `rows` rows; a plain value stands for a column of it."""
        defaults = {each.name: each.default for each in fields(cls.kind)}
        arrays = []
        for each in cls.schema:
            given = columns[each.name] if each.name in columns else defaults[each.name]
            if given is None or isinstance(given, str | int | float | bool):
                arrays.append(pa.repeat(pa.scalar(given, each.type), rows))
            else:
                arrays.append(given.cast(each.type) if isinstance(given, pa.Array) else pa.array(given, each.type))
        return cls(pa.Table.from_arrays(arrays, schema=cls.schema))

    @classmethod
    def concat(cls, parts: Iterable[Self]) -> Self:
        tables = [part.table for part in parts if len(part)]
        return cls(pa.concat_tables(tables)) if tables else cls.of()

    def column(self, name: str) -> list[Any]:
        return cast(list[Any], self.table[name].to_pylist())

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[Row]:
        return (self.kind(*row) for row in zip(*(column.to_pylist() for column in self.table.columns), strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.table.equals(other.table)

    __hash__ = None  # type: ignore[assignment]  # a table has none


class Answers(_ColumnarRows[Answer]):
    """What a node, or all of them, publishes for an epoch."""

    kind = Answer
    schema = pa.schema(
        [
            ("node", pa.string()), ("tick", pa.int64()), ("key", pa.string()), ("rank", pa.int64()),
            ("estimate", pa.float64()), ("low", pa.float64()), ("high", pa.float64()),
            ("confidence", pa.float64()), ("partial", pa.bool_()),
        ]
    )  # fmt: skip

    def as_partial(self) -> Answers:
        """The same rows, each known to lack something."""
        at = self.schema.get_field_index("partial")
        return Answers(self.table.set_column(at, "partial", pa.repeat(pa.scalar(True), len(self))))

    @property
    def any_partial(self) -> bool:
        return bool(self.table.num_rows) and True in self.column("partial")


class Verdicts(_ColumnarRows[Verdict]):
    """What the judge found of an epoch's answers."""

    kind = Verdict
    schema = pa.schema(
        [
            ("node", pa.string()), ("tick", pa.int64()), ("key", pa.string()), ("promise", pa.string()),
            ("exact", pa.float64()), ("error", pa.float64()), ("allowed", pa.float64()), ("kept", pa.bool_()),
            ("confidence", pa.float64()),
        ]
    )  # fmt: skip

    def where_broken(self) -> Verdicts:
        """Those that were not kept."""
        return Verdicts(self.table.filter(pc.invert(self.table["kept"])))

    def where_probable(self) -> Verdicts:
        """Those on what was promised with a probability."""
        return Verdicts(self.table.filter(pc.less(self.table["confidence"], 1.0)))
