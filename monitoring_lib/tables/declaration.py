"""What a declaration of a table consists of, and what is derived from it: Arrow schema, Spark DDL, comments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Literal

import pyarrow as pa

from monitoring_lib.tables.words import COLUMNS, TABLES_IN_WORDS

Engine = Literal["spark", "delta-rs"]


class Kind(StrEnum):
    """Types of columns, all of which both engines read alike."""

    STRING = "string"
    LONG = "bigint"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"
    DATE = "date"
    BINARY = "binary"
    STRINGS = "array<string>"
    TEXTS = "map<string,string>"
    NUMBERS = "map<string,bigint>"

    @property
    def arrow(self) -> pa.DataType:
        return _ARROW[self]


_ARROW: Mapping[Kind, pa.DataType] = {
    Kind.STRING: pa.string(),
    Kind.LONG: pa.int64(),
    Kind.DOUBLE: pa.float64(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.TIMESTAMP: pa.timestamp("us", "UTC"),
    Kind.DATE: pa.date32(),
    Kind.BINARY: pa.binary(),
    Kind.STRINGS: pa.list_(pa.string()),
    Kind.TEXTS: pa.map_(pa.string(), pa.string()),
    Kind.NUMBERS: pa.map_(pa.string(), pa.int64()),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column and what is always true of it."""

    kind: Kind
    nullable: bool = False
    least: float | None = None
    among: tuple[str, ...] = ()
    clock: bool = False
    """Whether it says when or by which write, not what: left out of digests of content."""


@dataclass(frozen=True, eq=False)
class Table:
    """One Delta table. `key` identifies a row among those of one write; `at_sites` says whose storage holds it."""

    name: str
    at_sites: bool
    key: tuple[str, ...]
    columns: Mapping[str, Column] = field(repr=False)
    partition: str | None = None
    by_seal: bool = False
    """Whether its rows count only where a seal lists their write; those of other writes are dead in the end."""
    retention: int = 7 * 24
    """Hours for which dead rows, and files that the table no longer needs, are kept."""

    @property
    def description(self) -> str:
        """What a row of it is, in words."""
        return TABLES_IN_WORDS[self.name]

    def describe(self, column: str) -> str:
        """What a column holds, in words: those of this table, or the ones that it has in every table."""
        return COLUMNS.get(f"{self.name}.{column}") or COLUMNS[column]

    @property
    def engine(self) -> Engine:
        """Site tables are bulk and written by Spark; the coordinator's are small and need no JVM."""
        return "spark" if self.at_sites else "delta-rs"

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([pa.field(name, column.kind.arrow, column.nullable) for name, column in self.columns.items()])

    @property
    def described_schema(self) -> pa.Schema:
        """The same with each column's words, as Delta keeps comments."""
        return pa.schema([each.with_metadata({"comment": self.describe(each.name)}) for each in self.schema])

    @property
    def ddl(self) -> str:
        """The columns as Spark's SQL spells them."""
        return ", ".join(
            f"{name} {column.kind}{'' if column.nullable else ' NOT NULL'}" for name, column in self.columns.items()
        )

    @property
    def described_ddl(self) -> str:
        """The same with each column's words."""
        texts = (self.describe(name).replace("\\", "\\\\").replace("'", "\\'") for name in self.columns)
        columns = self.ddl.split(", ")
        return ", ".join(f"{column} COMMENT '{text}'" for column, text in zip(columns, texts, strict=True))

    @property
    def content(self) -> list[str]:
        """The columns that make up what a row says."""
        return [name for name, column in self.columns.items() if not column.clock]
