"""The only door to the tables: write under an id, read a sealed slice, seal, publish."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.lake.ledger import Ledger
from jobs.lake.seals import Seal
from jobs.lake.site_tables import SiteTables
from jobs.lake.store import Condition, Store
from monitoring_lib.config import Source
from monitoring_lib.epochs import to_datetime
from monitoring_lib.tables import EVENTS, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def new_write(step: str) -> str:
    """The id of one try of one step."""
    return f"{step}-{uuid.uuid4().hex}"


@dataclass
class Lake:
    """Both storages of one deployment."""

    centre: Store
    sites: Store
    session: Callable[[], SparkSession]

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.centre)
        self.site_tables = SiteTables(self.sites, self.session)

    def store_of(self, table: Table) -> Store:
        return self.sites if table.at_sites else self.centre

    def append(self, table: Table, rows: list[dict[str, Any]]) -> None:
        """Appends rows, which carry the id of their write, through the table's one engine."""
        if table.at_sites:
            self.site_tables.append_rows(table, rows)
        else:
            self.centre.append(table, pa.Table.from_pylist(rows, table.schema))

    def events(self, source: Source, landing: int, start: int, end: int) -> DataFrame:
        """The events of ``[start, end)`` that the first `landing` landings of a source brought, for Spark."""
        from pyspark.sql import functions as F

        brought = self.ledger.landed(source.name, start, end)
        writes = sorted({seal.write for seal in brought if seal.revision <= landing})
        first, last = to_datetime(start), to_datetime(end)
        return self.site_tables.read(EVENTS).where(
            (F.col("source") == source.name)
            & F.col("write").isin(writes)
            & F.col("day").between(F.lit(first.date()), F.lit(last.date()))
            & (F.col("epoch_start") >= F.lit(first))
            & (F.col("epoch_start") < F.lit(last))
        )

    def frame(self, table: Table) -> DataFrame:
        """All rows of a table, sealed or not, for Spark; both engines read all tables."""
        if table.at_sites:
            return self.site_tables.read(table)
        self.centre.opened(table)
        return self.session().read.format("delta").load(self.centre.location(table))

    def of_writes(
        self, table: Table, writes: Sequence[str], conditions: Iterable[Condition] = (),
        columns: Sequence[str] | None = None,
    ) -> pa.Table:  # fmt: skip
        """The rows of these writes."""
        return self.store_of(table).read(table, [("write", "in", sorted(set(writes))), *conditions], columns)

    def sealed(
        self, table: Table, seals: Sequence[Seal], outputs: Sequence[str], conditions: Iterable[Condition] = (),
        columns: Sequence[str] | None = None,
    ) -> pa.Table:  # fmt: skip
        """The rows that these seals name as their `outputs`: of each epoch, those of its own writes only."""
        if not seals:
            return self.store_of(table).read(table, [("write", "in", [])], columns)
        names = {(seal.epoch_start, seal.writes[name]) for seal in seals for name in outputs if name in seal.writes}
        span: list[Condition] = [
            ("epoch_start", ">=", min(seal.epoch_start for seal in seals)),
            ("epoch_start", "<=", max(seal.epoch_start for seal in seals)),
        ]
        wanted = list(columns or table.columns)
        needed = list(dict.fromkeys([*wanted, "epoch_start", "write"]))
        rows = self.of_writes(table, [write for _, write in names], [*span, *conditions], needed)
        starts = rows["epoch_start"].cast(pa.int64()).to_pylist()
        named = [pair in names for pair in zip(starts, rows["write"].to_pylist(), strict=True)]
        return rows.filter(pa.array(named, pa.bool_())).select(wanted)


def column_list(rows: pa.Table, name: str) -> list[Any]:
    """A column's values; times as microseconds."""
    column = rows[name]
    plain = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
    return list(plain.to_pylist())


def rows_by(rows: pa.Table, *names: str) -> Mapping[tuple[Any, ...], pa.Table]:
    """The rows of each combination of these columns' values."""
    keys = list(zip(*(column_list(rows, name) for name in names), strict=True))
    places: dict[tuple[Any, ...], list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return {key: pc.take(rows, pa.array(at, pa.int64())) for key, at in places.items()}
