"""Appends the rows of a landing under its write: good ones to `events`, others to `quarantine`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jobs.lake.site_tables import SiteTables
from jobs.landing.decisions import Report
from jobs.landing.tasks import REPORT, report_of
from monitoring_lib.config import Source
from monitoring_lib.errors import StorageError
from monitoring_lib.tables import EVENTS, QUARANTINE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass
class LandedRows:
    """What one landing brought: by digest, rows by epoch start, and set-aside rows by kind of fault."""

    landed: dict[str, Counter[int]] = field(default_factory=dict)
    quarantined: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def epochs(self) -> Counter[int]:
        return sum(self.landed.values(), Counter[int]())

    @property
    def kinds(self) -> Counter[str]:
        return sum(self.quarantined.values(), Counter[str]())

    def add(self, digest: str, landed: Any, quarantined: Any) -> None:
        self.landed.setdefault(digest, Counter()).update(landed)
        self.quarantined.setdefault(digest, Counter()).update(quarantined)


def reports_of(filed: DataFrame) -> list[Report]:
    """The reports of the files that rows were filed of."""
    from pyspark.sql import functions as F

    return [report_of(row["raw"]) for row in filed.where(F.col("line") == REPORT).select("raw").collect()]


def write_events(tables: SiteTables, source: Source, filed: DataFrame, write: str, expected: int) -> None:
    """Appends the good ones among filed rows, which must be as many as the reports have told."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    seen = Observation(write)
    good = filed.where(F.col("reason").isNull() & (F.col("line") != REPORT))
    tables.append(EVENTS, given(good.observe(seen, F.count(F.lit(1)).alias("rows")), source, write))
    if seen.get["rows"] != expected:
        raise StorageError(
            f"{source.name}: {seen.get['rows']} rows were written where its files brought {expected}: a file changed"
            " while it was read, and Spark has read it twice; try again"
        )


def write_quarantine(tables: SiteTables, source: Source, filed: DataFrame, write: str) -> None:
    """Appends the faulty ones among filed rows."""
    from pyspark.sql import functions as F

    aside = filed.where(F.col("reason").isNotNull())
    aside = aside.withColumn("value", F.col("fault_value")).withColumn("day", F.current_date())
    tables.append(QUARANTINE, given(aside, source, write))


def given(rows: DataFrame, source: Source, write: str) -> DataFrame:
    """Rows with the columns that all of a landing share."""
    from pyspark.sql import functions as F

    return rows.withColumn("source", F.lit(source.name)).withColumn("write", F.lit(write))


def tally_of(filed: DataFrame) -> LandedRows:
    """What became of filed rows, by digest."""
    from pyspark.sql import functions as F

    tally = LandedRows()
    rows = filed.where(F.col("line") != REPORT)
    start = F.when(F.col("reason").isNull(), F.unix_micros("epoch_start"))
    for digest, kind, epoch, count in rows.groupBy("digest", "kind", start).count().collect():
        tally.add(digest, {} if epoch is None else {epoch: count}, {kind: count} if epoch is None else {})
    return tally
