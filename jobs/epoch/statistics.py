"""What each site brought in each epoch, counted where the events are: the one scan of the gate."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from jobs import quality
from jobs.epoch.context import Context
from jobs.lake import column_list
from jobs.spark.event_columns import EventColumns
from jobs.spark.expressions import to_column
from jobs.spark.groupings import Grouping
from monitoring_lib.config import Source
from monitoring_lib.expressions import parse
from monitoring_lib.tables import EVENTS

if TYPE_CHECKING:
    from pyspark.sql import Column

_OWN = set(EVENTS.columns)


def site_statistics(
    context: Context, source: Source, landing: int, start: int, end: int, placements: Sequence[tuple[str, ...]]
) -> pa.Table:  # fmt: skip
    """A row for each (site, epoch) with events, dropped by some monitor's `where` or not.

    `placements` are tuples of expressions: of each the smallest tuple of texts in the cell, nulls as ''. A column of
    the events is read only if something is asked about it: most sources want no more than the number of events.
    """
    asked = [source.quality, *(one.quality for one in context.config.monitors_of(source.name) if one.quality)]
    nulls = sorted({column for one in asked for column in one.nulls})
    drifting = sorted({column for one in asked for column in one.drift})
    schema = quality.statistics_schema(nulls, len(placements), drifting)
    landings = context.lake.ledger.landed(source.name, start, end)
    if not any(seal.counts.get("landed") for seal in landings):
        return schema.empty_table()
    from pyspark.sql import functions as F

    # Before any column is made: those of a Connect session are not those of a session in this process.
    events = context.lake.events(source, landing, start, end)
    empty = [F.count(F.when(_named(name).isNull(), 1)).alias(quality.lacking(name)) for name in nulls]
    smallest = [
        F.min(F.struct(*(_text(text).alias(f"t{at}") for at, text in enumerate(texts)))).alias(f"p{number}")
        for number, texts in enumerate(placements)
    ]
    columns = EventColumns(source.clock, source.scales)
    value = F.col("value") if any(one.ranges for one in asked) else F.lit(None).cast("bigint")
    rows = (
        events.groupBy(F.unix_micros("epoch_start").alias("epoch_start"), "site")
        .agg(
            F.count(F.lit(1)).alias("events"), F.min(value).alias("least"), F.max(value).alias("most"),
            *empty, *smallest, *(part for name in drifting for part in _buckets(name, columns)),
        )
    )  # fmt: skip
    for number, texts in enumerate(placements):
        fields = [F.col(f"p{number}.t{at}") for at in range(len(texts))]
        rows = rows.withColumn(quality.placement_column(number), F.array(*fields)).drop(f"p{number}")
    found = pa.table(rows.toArrow()).select(schema.names).cast(schema)
    by_epoch = found.group_by("epoch_start").aggregate([("events", "sum")])
    counts = dict(zip(column_list(by_epoch, "epoch_start"), column_list(by_epoch, "events_sum"), strict=True))
    context.lake.refuse_lost_events(source, landing, start, end, counts)
    return found


def counted_events(
    context: Context, source: Source, landing: int, cells: Collection[tuple[int, str]], groupings: Sequence[Grouping]
) -> list[dict[tuple[int, str], int]]:  # fmt: skip
    """Of each grouping, by start of the epoch and site, the events that its `where` and null keys do not drop.

    Only these cells are counted: the few that are set aside.
    """
    if not cells:
        return [{} for _ in groupings]
    from pyspark.sql import functions as F

    starts = sorted({start for start, _ in cells})
    events = context.lake.events(source, landing, starts[0], starts[-1] + source.epoch)
    columns = EventColumns(source.clock, source.scales)
    counts = [F.count(F.when(_counted(columns, one), 1)).alias(f"c{at}") for at, one in enumerate(groupings)]
    chosen = events.where(F.col("site").isin(sorted({site for _, site in cells})))
    rows = pa.table(chosen.groupBy(F.unix_micros("epoch_start").alias("start"), "site").agg(*counts).toArrow())
    found = list(zip(rows["start"].to_pylist(), rows["site"].to_pylist(), strict=True))
    return [dict(zip(found, rows[f"c{at}"].to_pylist(), strict=True)) for at in range(len(groupings))]


def _buckets(name: str, columns: EventColumns) -> list[Column]:
    """How many events lie in each part of a column's range: texts by their hash, numbers by sign and magnitude."""
    from pyspark.sql import functions as F

    if name in columns.scales:
        value = columns.reading(name)
        size = F.least(F.floor(F.log2(F.abs(value.cast("double")) + 1)), F.lit(quality.BUCKETS // 2 - 1))
        bucket = F.when(value < 0, F.lit(quality.BUCKETS // 2 - 1) - size).otherwise(size + quality.BUCKETS // 2)
    else:
        text = _named(name)
        bucket = F.when(text.isNotNull(), F.pmod(F.xxhash64(text), F.lit(quality.BUCKETS)))
    return [
        F.count(F.when(bucket == at, 1)).alias(quality.bucket_column(name, at)) for at in range(quality.BUCKETS)
    ]  # fmt: skip


def _counted(columns: EventColumns, grouping: Grouping) -> Column:
    from pyspark.sql import functions as F

    condition = columns.counted(grouping.where, grouping.keys(columns))
    return F.lit(True) if condition is None else condition


def _named(name: str) -> Column:
    from pyspark.sql import functions as F

    return F.col(name) if name in _OWN else F.col("fields")[name]


def _text(expression: str) -> Column:
    from pyspark.sql import functions as F

    return F.coalesce(to_column(parse(expression), _named), F.lit(""))
