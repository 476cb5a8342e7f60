"""The sites' tables: bulk, partitioned by day, written by Spark and nobody else."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from jobs.lake.store import Store
from monitoring_lib.errors import StorageError
from monitoring_lib.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PROPERTIES = {
    "delta.enableDeletionVectors": "false",
    "delta.dataSkippingStatsColumns": "epoch_start",
    "delta.checkpointInterval": "50",
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
        if self.store.open(table) is not None:
            return
        properties = {
            name: value
            for name, value in _PROPERTIES.items()
            if "epoch_start" in table.columns or value != "epoch_start"
        }
        listed = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
        partition = f"PARTITIONED BY ({table.partition}) " if table.partition else ""
        location = self.store.location(table).replace("`", "``")
        self.spark.sql(
            f"CREATE TABLE IF NOT EXISTS delta.`{location}` ({table.ddl})"
            f" USING delta {partition}TBLPROPERTIES ({listed})"
        )
        self.store.committed(table.name)

    def append(self, table: Table, rows: DataFrame) -> None:
        """Appends a frame whose columns are the table's, in any order."""
        from pyspark.errors import PySparkException

        self.make(table)
        frame = rows.select(*table.columns)
        try:
            frame.write.format("delta").mode("append").save(self.store.location(table))
        except PySparkException as error:
            raise StorageError(f"{self.store.location(table)} cannot be written: {error}") from error
        self.store.committed(table.name)

    def append_rows(self, table: Table, rows: list[dict[str, Any]]) -> None:
        """Appends rows that are in this process, all of them in one commit."""
        if rows:
            arrow = pa.Table.from_pylist(rows, table.schema)
            self.append(table, to_frame(self.spark, arrow).coalesce(1))


def to_frame(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """Rows of this process as a frame; a Connect client cannot tell the types of an empty table by itself."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return spark.createDataFrame(rows if rows.num_rows else [], from_arrow_schema(rows.schema))
