"""The only access to the tables: write under an id, read a sealed slice, seal, publish."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from jobs.lake.conditions import RowCondition
from jobs.lake.ledger import Ledger
from jobs.lake.records import Part
from jobs.lake.seals import Seal
from jobs.lake.site_tables import SiteTables
from jobs.lake.store import Store
from jobs.lake.times import column_list, rows_by
from jobs.lake.write_ids import new_write
from monitoring_lib.config import Source
from monitoring_lib.epochs import format_time, to_datetime
from monitoring_lib.errors import DamagedTable
from monitoring_lib.tables import EVENTS, REFERENCES, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Lake", "column_list", "new_write", "rows_by"]

Referred = Callable[["Lake", Source, Sequence[str], Collection[tuple[str, str]], int, int], "DataFrame | None"]
"""The events of writes, without those of replaced (digest, write), in files that reach into a range of epochs."""
_EVER = (-(2**63), 2**63 - 1)


@dataclass
class Lake:
    """Both storages of one deployment."""

    centre: Store
    sites: Store
    session: Callable[[], SparkSession]
    referred: Referred | None = None
    """Reads events that were not copied where their files are."""

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.centre)
        self.site_tables = SiteTables(self.sites, self.session)
        self.recorded_before: dict[tuple[str, tuple[RowCondition, ...]], dict[Part, dict[str, Any]]] = {}

    def go_on_with(self, other: Lake) -> None:
        """Takes over the tables that an earlier command has opened in this process."""
        self.centre.go_on_with(other.centre)
        self.sites.go_on_with(other.sites)

    def store_of(self, table: Table) -> Store:
        return self.sites if table.at_sites else self.centre

    def append(self, table: Table, rows: pa.Table | list[dict[str, Any]]) -> None:
        """Appends rows, which carry the id of their write, through the table's one engine."""
        found = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows, table.schema)
        if not found.num_rows:
            return
        if table.at_sites:
            self.site_tables.append_rows(table, found)
        else:
            self.centre.append(table, found)

    def events(self, source: Source, landing: int, start: int, end: int) -> DataFrame:
        """The events of ``[start, end)`` that the first `landing` landings of a source brought, for Spark."""
        from pyspark.sql import functions as F

        brought = [seal for seal in self.ledger.landed(source.name, start, end) if seal.revision <= landing]
        writes = sorted({seal.write for seal in brought})
        first, last = to_datetime(start), to_datetime(end)
        replaced = {pair for seal in brought for pair in seal.replaced}
        found = self.written(source, writes, replaced, start, end).where(
            F.col("day").between(F.lit(first.date()), F.lit(last.date()))
            & (F.col("epoch_start") >= F.lit(first))
            & (F.col("epoch_start") < F.lit(last))
        )
        for digest, write in sorted(replaced):
            found = found.where((F.col("digest") != digest) | (F.col("write") != write))
        return found

    def written(
        self, source: Source, writes: Sequence[str], replaced: Collection[tuple[str, str]] = (), start: int = _EVER[0],
        end: int = _EVER[1],
    ) -> DataFrame:  # fmt: skip
        """The events of these writes, copied or where their files are; of the latter, what reaches into the range."""
        from pyspark.sql import functions as F

        copied = self.site_tables.read(EVENTS).where((F.col("source") == source.name) & F.col("write").isin(writes))
        others = self.referred(self, source, writes, replaced, start, end) if self.referred else None
        return copied if others is None else copied.unionAll(others)

    def refuse_lost_events(self, source: Source, landing: int, start: int, end: int, found: Mapping[int, int]) -> None:
        """DamagedTable if the events of some epoch are not as many as the landings brought."""
        expected: Counter[int] = Counter()
        for seal in self.ledger.landed(source.name, start, end):
            if seal.revision <= landing:
                expected[seal.epoch_start] += seal.counts.get("landed", 0) - seal.counts.get("replaced", 0)
        for epoch_start in sorted(expected.keys() | found.keys()):
            there, brought = found.get(epoch_start, 0), expected[epoch_start]
            if there != brought:
                raise DamagedTable(
                    f"{source.name}, epoch {format_time(epoch_start)}: the table `events` is damaged: {there} rows are"
                    f" there where its landings brought {brought}. Restore it from a copy, or give the source a new"
                    " name: under that, its files land anew"
                )

    def count_events(self, source: Source, landing: int, start: int, end: int) -> dict[int, int]:
        """How many events of each epoch the first `landing` landings of a source brought, as they are there."""
        brought = [seal for seal in self.ledger.landed(source.name, start, end) if seal.revision <= landing]
        writes = sorted({seal.write for seal in brought})
        replaced = {pair for seal in brought for pair in seal.replaced}
        if self.sites.read(REFERENCES, [("source", "=", source.name), ("write", "in", writes)], ["path"]).num_rows:
            from pyspark.sql import functions as F

            events = self.events(source, landing, start, end)
            return dict(events.groupBy(F.unix_micros("epoch_start")).count().collect())
        conditions: list[RowCondition] = [
            ("source", "=", source.name), ("write", "in", writes), ("epoch_start", ">=", start),
            ("epoch_start", "<", end),
        ]  # fmt: skip
        if not replaced:
            return {found: rows for (found,), rows in self.sites.count(EVENTS, ["epoch_start"], conditions).items()}
        counts: Counter[int] = Counter()
        for (found, *pair), rows in self.sites.count(EVENTS, ["epoch_start", "digest", "write"], conditions).items():
            counts[found] += 0 if tuple(pair) in replaced else rows
        return counts

    def frame(self, table: Table) -> DataFrame:
        """All rows of a table, sealed or not, for Spark; both engines read all tables."""
        if table.at_sites:
            return self.site_tables.read(table)
        self.centre.opened(table)
        return self.session().read.format("delta").load(self.centre.location(table))

    def of_writes(
        self, table: Table, writes: Sequence[str], conditions: Iterable[RowCondition] = (),
        columns: Sequence[str] | None = None,
    ) -> pa.Table:  # fmt: skip
        """The rows of these writes."""
        return self.store_of(table).read(table, [("write", "in", sorted(set(writes))), *conditions], columns)

    def sealed(
        self, table: Table, seals: Sequence[Seal], outputs: Sequence[str], conditions: Iterable[RowCondition] = (),
        columns: Sequence[str] | None = None,
    ) -> pa.Table:  # fmt: skip
        """The rows that these seals name as their `outputs`: of each epoch, those of its own writes only."""
        named = {(seal.epoch_start, seal.writes[name]) for seal in seals for name in outputs if name in seal.writes}
        return self.named(table, named, conditions, columns)

    def named(
        self, table: Table, named: Iterable[tuple[int, str]], conditions: Iterable[RowCondition] = (),
        columns: Sequence[str] | None = None,
    ) -> pa.Table:  # fmt: skip
        """The rows of these (epoch start, write). Epochs far apart are read apart, without the files between."""
        wanted = list(columns or table.columns)
        needed = list(dict.fromkeys([*wanted, "epoch_start", "write"]))
        parts = _apart(named, conditions, lambda conditions: self.store_of(table).read(table, conditions, needed))
        empty = pa.schema([table.schema.field(name) for name in wanted]).empty_table()
        return pa.concat_tables([empty, *(part.select(wanted) for part in parts)])

    def fingerprints(
        self, table: Table, named: Iterable[tuple[int, str]], conditions: Iterable[RowCondition] = ()
    ) -> pa.Table:
        """The same rows with the SHA-256 of their payloads in place of them; the engine digests as it reads."""
        store = self.store_of(table)
        parts = list(_apart(named, conditions, lambda conditions: store.fingerprints(table, conditions)))
        return pa.concat_tables(parts) if parts else table.schema.empty_table()


def _apart(
    named: Iterable[tuple[int, str]], conditions: Iterable[RowCondition], read: Callable[[list[RowCondition]], pa.Table]
) -> Iterator[pa.Table]:
    """The rows of each (epoch start, write) that is named, stretch by stretch of epochs."""
    pairs = set(named)
    for first, last in _stretches(sorted({start for start, _ in pairs})):
        writes = sorted({write for start, write in pairs if first <= start <= last})
        span: list[RowCondition] = [("write", "in", writes), ("epoch_start", ">=", first), ("epoch_start", "<=", last)]
        found = rows_by(read([*span, *conditions]), "epoch_start", "write")
        yield from (part for key, part in found.items() if key in pairs)


_FAR = 16
"""Stretches of epochs that are this many times their usual distance apart are read one by one."""


def _stretches(starts: Sequence[int]) -> list[tuple[int, int]]:
    """Epochs in order, as first and last of each stretch without a wide gap."""
    if not starts:
        return []
    gaps = [later - earlier for earlier, later in itertools.pairwise(starts)]
    wide = _FAR * min(gaps, default=0)
    stretches = [[starts[0], starts[0]]]
    for start, gap in zip(starts[1:], gaps, strict=True):
        if gap > wide:
            stretches.append([start, start])
        stretches[-1][1] = start
    return [(first, last) for first, last in stretches]
