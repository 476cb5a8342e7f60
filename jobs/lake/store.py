"""Delta tables without a JVM: the coordinator's are made, written and read here, the sites' only read."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import ColumnProperties, DeltaTable, QueryBuilder, WriterProperties, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from jobs.lake.conditions import RowCondition, predicate
from jobs.lake.small_files import kept_rows
from jobs.lake.trouble import trouble
from jobs.lake.upkeep import NO_HOOKS, NO_RETRY, refuse_full, tend
from monitoring_lib.errors import StorageError
from monitoring_lib.tables import Kind, Table

_MOST_TRIES = 60
_PRUNED_BY = ("epoch_start", "monitor", "version")
"""Columns whose smallest and largest values are kept for each file, so that a read skips files."""
_PROPERTIES: dict[str, str | None] = {
    "delta.logRetentionDuration": "interval 1 days",
    "delta.deletedFileRetentionDuration": "interval 1 days",
}


@dataclass
class Store:
    """A folder (or an object store's prefix) of Delta tables."""

    root: str
    options: dict[str, str] = field(default_factory=dict)
    committed: Callable[[str], None] = lambda table: None
    """Called after every commit of rows, with the table's name."""
    _known: dict[str, DeltaTable] = field(default_factory=dict, repr=False)
    """Tables that were opened before: what came since is a fraction of their log."""

    def location(self, table: Table) -> str:
        return f"{self.root.rstrip('/')}/{table.name}"

    def go_on_with(self, other: Store) -> None:
        """Takes over the tables that an earlier store of the same place has opened."""
        if (self.root, self.options) == (other.root, other.options):
            self._known |= other._known

    def open(self, table: Table) -> DeltaTable | None:
        """The table as it is now, None if nobody has written to it yet."""
        try:
            known = self._known.get(table.name)
            if known is None:
                known = DeltaTable(self.location(table), storage_options=self.options)
            else:
                known.update_incremental()
        except TableNotFoundError:
            return None
        except (DeltaError, OSError) as error:
            raise trouble(self.location(table), "opened", error) from error
        self._known[table.name] = known
        return known

    def opened(self, table: Table) -> DeltaTable:
        """The table, made if it is not there."""
        found = self.open(table)
        if found is not None:
            return found
        pruned = ",".join(name for name in _PRUNED_BY if name in table.columns)
        try:
            if "://" not in self.root:
                Path(self.root).mkdir(parents=True, exist_ok=True)
            made = DeltaTable.create(
                self.location(table), table.described_schema, mode="ignore", description=table.description,
                configuration=_PROPERTIES | {"delta.dataSkippingStatsColumns": pruned}, storage_options=self.options,
            )  # fmt: skip
        except (DeltaError, OSError) as error:
            raise trouble(self.location(table), "made", error) from error
        self.committed(table.name)
        return made

    def append(self, table: Table, rows: pa.Table) -> None:
        """Appends rows under the write id they carry; nothing is written where there are none."""
        if table.at_sites:
            raise ValueError(f"{table.name}: site tables are written by Spark only")
        if not rows.num_rows:
            return
        current = self.opened(table)
        try:
            self._refuse_unwritable(table, rows)
            write_deltalake(
                current, rows.cast(table.schema), mode="append",
                writer_properties=_written_as(table), post_commithook_properties=NO_HOOKS,
            )  # fmt: skip
        except (DeltaError, OSError) as error:
            raise trouble(self.location(table), "written", error) from error
        self.committed(table.name)
        self._tend(table, current)

    def append_if(self, table: Table, decide: Callable[[DeltaTable], pa.Table | None]) -> bool:
        """Compare and swap: `decide` looks at the table and gives the rows to append, or None for none.

        The append goes through the very version that was looked at and is never rebased: if another commit
        came between, `decide` is asked again.
        """
        for _ in range(_MOST_TRIES):
            current = self.opened(table)
            looked_at = current.version()
            rows = decide(current)
            if rows is None:
                return False
            if current.version() != looked_at:  # whoever reads the table through this store moves it on
                continue
            try:
                self._refuse_unwritable(table, rows)
                write_deltalake(
                    current, rows.cast(table.schema), mode="append", writer_properties=_written_as(table),
                    commit_properties=NO_RETRY, post_commithook_properties=NO_HOOKS,
                )  # fmt: skip
            except CommitFailedError:
                continue
            except (DeltaError, OSError) as error:
                raise trouble(self.location(table), "written", error) from error
            self.committed(table.name)
            self._tend(table, current)
            return True
        raise StorageError(f"{self.location(table)}: {_MOST_TRIES} tries to commit were all overtaken; try again")

    def _refuse_unwritable(self, table: Table, rows: pa.Table) -> None:
        """Checked before delta-rs writes: where that cannot write, it prints a Rust backtrace beside its error."""
        location = self.location(table)
        if "://" in location:
            return
        if not os.access(location, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), location)
        refuse_full(location, rows.nbytes)

    def _tend(self, table: Table, current: DeltaTable) -> None:
        try:
            tend(current)
        except (DeltaError, OSError) as error:
            raise trouble(self.location(table), "compacted", error) from error

    def delete(self, table: Table, conditions: Iterable[RowCondition]) -> None:
        """Takes out the rows that meet all conditions."""
        found = self._there(table)
        try:
            # At worst every file holds some of the rows, and is written again.
            refuse_full(self.location(table), sum(pa.table(found.get_add_actions())["size_bytes"].to_pylist()))
            # Deleting, the engine takes `timestamp '…'` for nanoseconds, and compares them with nothing of ours.
            found.delete((predicate(conditions) or "").replace("timestamp '", "'"))
        except (DeltaError, OSError) as error:
            raise trouble(self.location(table), "written", error) from error
        self.committed(table.name)

    def read(
        self, table: Table, conditions: Iterable[RowCondition] = (), columns: Sequence[str] | None = None
    ) -> pa.Table:
        """The rows that meet all conditions, sealed or not: `Lake` decides which of them exist."""
        found = self.open(table)
        wanted = list(columns or table.columns)
        if found is None:
            return pa.schema([table.schema.field(name) for name in wanted]).empty_table()
        return scan(found, table, conditions, wanted)

    def count(self, table: Table, by: Sequence[str], conditions: Iterable[RowCondition]) -> Counter[tuple[Any, ...]]:
        """How many rows meet the conditions, by the values of these columns; times as microseconds."""
        return count_rows(self._there(table), by, conditions)

    def fingerprints(self, table: Table, conditions: Iterable[RowCondition]) -> pa.Table:
        """The content of the rows that meet the conditions, binary cells as the hex of their SHA-256.

        The engine digests as it reads: payloads, which may be large, never come into Python. `payload_bytes`
        says how large they are.
        """
        cells = [
            f"encode(sha256({name}), 'hex') as {name}" if table.columns[name].kind == Kind.BINARY else f'"{name}"'
            for name in [*table.content, "write"]
        ]
        size = "cast(length(encode(payload, 'hex')) / 2 as bigint) as payload_bytes"
        rows = self._select(table, ", ".join([*cells, size]), conditions)
        kinds = {
            name: pa.string() if one.kind == Kind.BINARY else one.kind.arrow for name, one in table.columns.items()
        }
        return rows.cast(pa.schema([(name, kinds.get(name, pa.int64())) for name in rows.column_names]))

    def _select(self, table: Table, what: str, conditions: Iterable[RowCondition]) -> pa.Table:
        return _select(self._there(table), what, conditions)

    def _there(self, table: Table) -> DeltaTable:
        found = self.open(table)
        if found is None:
            raise StorageError(f"{self.location(table)} is not there; nothing has been written to it")
        return found


@cache
def _written_as(table: Table) -> WriterProperties:
    """Numbers with fractions are seldom the same twice: a dictionary of them would cost time and space."""
    numbers = [name for name, column in table.columns.items() if column.kind == Kind.DOUBLE]
    plain = {name: ColumnProperties(dictionary_enabled=False) for name in numbers}
    # Properties of our own replace all of delta-rs's: its compression, and the length of the bounds of texts.
    return WriterProperties(compression="SNAPPY", statistics_truncate_length=64, column_properties=plain)


def count_rows(found: DeltaTable, by: Sequence[str], conditions: Iterable[RowCondition]) -> Counter[tuple[Any, ...]]:
    """How many rows of a table meet the conditions, by the values of these columns; times as microseconds."""
    columns = ", ".join(by)
    rows = _select(found, f"{columns}, count(*) as rows", conditions, f" group by {columns}")
    values = [_plain(rows[name]) for name in by]
    return Counter(dict(zip(zip(*values, strict=True), _plain(rows["rows"]), strict=True)))


def _select(found: DeltaTable, what: str, conditions: Iterable[RowCondition], end: str = "") -> pa.Table:
    """A query of our own making: column names of the declaration, and conditions."""
    where = predicate(conditions)
    text = f"select {what} from rows" + (f" where {where}" if where else "") + end
    try:
        return pa.table(QueryBuilder().register("rows", found).execute(text))
    except (DeltaError, OSError, pa.ArrowException) as error:
        raise trouble(found.table_uri, "read", error) from error


def largest_by_file(found: DeltaTable, column: str) -> list[int]:
    """The largest time of a column in each data file, as Delta keeps it, in microseconds; the newest first."""
    files, name = pa.table(found.get_add_actions(flatten=True)), f"max.{column}"
    return sorted(_plain(files[name].drop_null()), reverse=True) if name in files.column_names else []


def _plain(column: pa.ChunkedArray) -> list[Any]:
    return list((column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist())


def scan(found: DeltaTable, table: Table, conditions: Iterable[RowCondition], columns: Sequence[str]) -> pa.Table:
    """The rows that meet all conditions: of small files as they were read before, of others by the engine."""
    asked = list(conditions)
    where = predicate(asked)  # refuses what is no value of our own, whoever reads
    kept = kept_rows(found, table, asked, columns)
    if kept is not None:
        return kept
    try:
        rows = pa.table(found.scan(columns=list(columns), predicate=where))
    except (DeltaError, OSError, pa.ArrowException) as error:
        raise trouble(found.table_uri, "read", error) from error
    return rows.cast(pa.schema([table.schema.field(name) for name in columns]))
