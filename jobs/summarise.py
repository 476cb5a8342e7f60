"""Step 3, summarise: the synopses of every (site, epoch) of the range for all monitors, made by Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.context import Context
from jobs.handover import Handover
from jobs.lake import new_write
from jobs.lake.records import record_site_write
from jobs.spark_expressions import to_column
from jobs.summaries import Wanted, wanted_by_all
from monitoring_lib.config import Source
from monitoring_lib.expressions import parse
from monitoring_lib.tables import EVENTS, SYNOPSES, WRITES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_OWN = set(EVENTS.columns)


def summarise(context: Context, handover: Handover) -> None:
    """Writes one row a (summary, site, epoch) that has events; nothing where there are none."""
    if not handover.monitors:
        return
    source = context.config.source(handover.source)
    with handover.timed("summarise"):
        write = handover.writes["synopses"] = new_write("summarise")
        start = min(handover.monitors.values())
        if not any(seal.counts.get("landed") for seal in context.lake.ledger.landed(source.name, start, handover.end)):
            return
        events = context.lake.events(source, handover.landing, start, handover.end)
        monitors = [context.config.monitor(name) for name in sorted(handover.monitors)]
        frames = [_synopses(events, source, wish, write) for wish in wanted_by_all(monitors, source)]
        context.lake.site_tables.append(SYNOPSES, reduce(lambda one, other: one.unionByName(other), frames))
        context.lake.append(WRITES, record_site_write(context.lake, SYNOPSES, source.name, "summarise", write))


def _synopses(events: DataFrame, source: Source, wish: Wanted, write: str) -> DataFrame:
    """Sums by key in the JVM, one list of them a (site, epoch), then the synopsis built of each list."""
    from pyspark.sql import functions as F

    keys = {"item": to_column(parse(wish.item), _resolve), "tick": F.unix_micros("time")}
    weight = F.lit(1) if wish.measure == "count" else F.coalesce(F.col("value"), F.lit(0))
    columns = [keys[name].alias(name) for name in wish.summary.keys]
    sums = (
        events.select("site", "epoch_start", "day", *columns, weight.cast("bigint").alias("weight"))
        .dropna(subset=list(wish.summary.keys))
        .groupBy("site", "epoch_start", "day", *wish.summary.keys)
        .agg(F.sum("weight").alias("sum"), F.count(F.lit(1)).alias("events"))
    )
    cells = sums.groupBy("site", "epoch_start", "day").agg(
        F.collect_list(F.struct(*wish.summary.keys, "sum")).alias("sums"), F.sum("events").alias("events")
    )
    return cells.mapInArrow(BuildSynopses(source.name, wish, write), SYNOPSES.ddl.replace(" NOT NULL", ""))


def _resolve(name: str) -> Column:
    from pyspark.sql import functions as F

    return F.col(name) if name in _OWN else F.col("fields")[name]


@dataclass(frozen=True)
class BuildSynopses:
    """The function that Spark maps over rows of (site, epoch, day, sums, events)."""

    source: str
    wish: Wanted
    write: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            payloads = [self._payload(batch["sums"][row]) for row in range(batch.num_rows)]
            constants = {"source": self.source, "summary": self.wish.name, "write": self.write}
            columns = {name: pa.array([text] * batch.num_rows, pa.string()) for name, text in constants.items()}
            columns |= {name: batch[name] for name in ("epoch_start", "day", "site", "events")}
            columns["payload"] = pa.array(payloads, pa.binary())
            yield pa.RecordBatch.from_pydict(
                {name: columns[name].cast(column.kind.arrow) for name, column in SYNOPSES.columns.items()}
            )

    def _payload(self, sums: pa.ListScalar) -> bytes:
        rows = sums.values
        keys = {name: rows.field(name) for name in self.wish.summary.keys}
        return self.wish.summary.build(keys, rows.field("sum")).to_bytes()
