"""The sites' tables: bulk, partitioned by day, written by Spark alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.lake.conditions import predicate
from jobs.lake.store import Store
from jobs.lake.trouble import engine_trouble
from monitoring_lib.tables import Kind, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MOST_SENT = 32_000_000
"""Bytes of rows that are sent to Spark at once: they travel in the plan, and a server takes no message above 128 MB."""
_PROPERTIES = {
    "delta.enableDeletionVectors": "false",
    "delta.dataSkippingStatsColumns": "epoch_start",
    "delta.checkpointInterval": "50",
    "delta.logRetentionDuration": "interval 7 days",
}


class SiteTables:
    """Appends to the tables of one site storage; `session` is asked only when Spark is needed."""

    def __init__(self, store: Store, session: Callable[[], SparkSession]) -> None:
        self.store = store
        self._session = session

    @property
    def spark(self) -> SparkSession:
        return self._session()

    @property
    def parallelism(self) -> int:
        """Into how many tasks work is cut that Spark cannot cut by itself; each task writes a file."""
        return int(self.spark.conf.get("spark.sql.shuffle.partitions") or 1)

    def read(self, table: Table) -> DataFrame:
        """All rows, sealed or not."""
        self.make(table)
        return self.spark.read.format("delta").load(self.store.location(table))

    def make(self, table: Table) -> None:
        from pyspark.errors import PySparkException

        if self.store.open(table) is not None:
            return
        properties = {
            name: value
            for name, value in _PROPERTIES.items()
            if "epoch_start" in table.columns or value != "epoch_start"
        }
        listed = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
        partition = f"PARTITIONED BY ({table.partition}) " if table.partition else ""
        try:
            self.spark.sql(
                f"CREATE TABLE IF NOT EXISTS {self._named(table)} ({table.described_ddl})"
                f" USING delta {partition}COMMENT '{_text(table.description)}' TBLPROPERTIES ({listed})"
            )
        except PySparkException as error:
            if self.store.open(table) is None:  # else another run has made it at the same moment
                raise engine_trouble(error, self.store.location(table)) from error
        self.store.committed(table.name)

    def append(self, table: Table, rows: DataFrame) -> None:
        """Appends a frame whose columns are the table's, in any order."""
        from pyspark.errors import PySparkException

        self.make(table)
        frame = rows.select(*table.columns)
        try:
            frame.write.format("delta").mode("append").save(self.store.location(table))
        except PySparkException as error:
            raise engine_trouble(error, self.store.location(table)) from error
        self.store.committed(table.name)

    def drop_writes(self, table: Table, writes: Sequence[str]) -> None:
        """Takes out the rows of these writes, in one commit."""
        self._commit(table, f"DELETE FROM {self._named(table)} WHERE {predicate([('write', 'in', writes)])}")

    def compact(self, table: Table, days: Sequence[date], size: int) -> None:
        """Puts the files of these days together, up to `size` bytes each; of a table without days, all."""
        for name in ("maxFileSize", "minFileSize"):
            self.spark.conf.set(f"spark.databricks.delta.optimize.{name}", str(size))
        listed = ", ".join(f"DATE'{day.isoformat()}'" for day in days)
        where = f" WHERE {table.partition} IN ({listed})" if days else ""
        self._commit(table, f"OPTIMIZE {self._named(table)}{where}")

    def vacuum(self, table: Table, hours: int) -> None:
        """Deletes files that no version of the last `hours` names."""
        # Folders are listed by 10,000 tasks otherwise, which takes minutes on few cores.
        self.spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", str(self.parallelism))
        self._commit(table, f"VACUUM {self._named(table)} RETAIN {hours} HOURS")

    def _commit(self, table: Table, statement: str) -> None:
        from pyspark.errors import PySparkException

        try:
            self.spark.sql(statement).collect()
        except PySparkException as error:
            raise engine_trouble(error, self.store.location(table)) from error
        self.store.committed(table.name)

    def _named(self, table: Table) -> str:
        return f"delta.`{self.store.location(table).replace('`', '``')}`"

    def append_told(self, table: Table, rows: DataFrame) -> pa.Table:
        """Appends a frame and tells its content: binary cells as the hex of their SHA-256, and their size.

        It is worked out where the rows are made: what was written is not read again, and payloads stay in Spark.
        """
        from pyspark.sql import functions as F

        kept = rows.select(*table.columns).persist()
        try:
            self.append(table, kept)
            size = F.octet_length("payload").cast("bigint").alias("payload_bytes")
            cells = [
                F.sha2(name, 256).alias(name) if column.kind == Kind.BINARY else F.col(name)
                for name, column in table.columns.items()
            ]
            told = pa.table(kept.select(*cells, size).toArrow())
        finally:
            kept.unpersist()
        kinds = {
            name: pa.string() if one.kind == Kind.BINARY else one.kind.arrow for name, one in table.columns.items()
        }
        return told.cast(pa.schema([*kinds.items(), ("payload_bytes", pa.int64())]))

    def append_rows(self, table: Table, rows: pa.Table) -> None:
        """Appends rows that are in this process, in one commit, or in several where they are many."""
        commits = 1 + rows.nbytes // _MOST_SENT
        size = -(-rows.num_rows // commits)
        for first in range(0, rows.num_rows, size):
            self.append(table, to_frame(self.spark, rows.slice(first, size)).coalesce(1))


def _text(words: str) -> str:
    """Words of a declaration as they stand between quotes in SQL."""
    return words.replace("\\", "\\\\").replace("'", "\\'")


def to_frame(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """Rows of this process as a frame; a Connect client cannot tell the types of an empty table by itself.

    In one chunk: without Connect, Spark drops all rows behind a chunk that is empty, and says nothing.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    return spark.createDataFrame(rows.combine_chunks() if rows.num_rows else [], from_arrow_schema(rows.schema))
