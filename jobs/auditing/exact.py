"""The exact rows of landed events: a plain GROUP BY in Spark for what a question's truth is computed from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jobs.lake import Lake
from jobs.spark.event_columns import EventColumns
from jobs.spark.groupings import Grouping, groupings_of
from jobs.spark.readings import WantedReductions
from monitoring_lib.config import Source
from monitoring_lib.hashing import SPARK_SEED, hash_strings
from monitoring_lib.summaries import TICK, Cell, Intake, Rows
from monitoring_lib.synopses.base import Synopsis
from monitoring_lib.tables import LANDINGS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CellKey = tuple[int, str]
"""Epoch and site."""


@dataclass(frozen=True)
class ExactQuery:
    """What all intakes with the same `where` and keys are counted from."""

    source: Source
    grouping: Grouping

    @cached_property
    def _readings(self) -> WantedReductions:
        return WantedReductions.of([self.grouping])

    @property
    def intakes(self) -> Sequence[Intake]:
        return self.grouping.intakes

    def frame(self, lake: Lake, landing: int, start: int, end: int) -> DataFrame:
        """One row for each (epoch, site, keys) of the events that have landed for ``[start, end)``."""
        from pyspark.sql import functions as F

        events = lake.events(self.source, landing, start, end)
        columns = EventColumns(self.source.clock, self.source.scales)
        keys = self.grouping.keys(columns)
        counted = columns.counted(self.grouping.where, keys)
        if self._readings.ordered:
            landings = lake.frame(LANDINGS).where(F.col("source") == self.source.name)
            paths = landings.groupBy("digest").agg(F.min("path").alias("path"))
            events = events.join(F.broadcast(paths), "digest", "left")
        rows = (events if counted is None else events.where(counted)).select(
            F.unix_micros("epoch_start").alias("epoch_start"), "site",
            *(key.alias(f"key{at}") for at, key in enumerate(keys)), *self._readings.carried(columns),
        )  # fmt: skip
        by = ["epoch_start", "site", *(f"key{at}" for at in range(len(keys)))]
        return rows.groupBy(*by).agg(F.count(F.lit(1)).alias("events"), *self._readings.aggregates())

    def sorted_rows(self, found: pa.Table) -> ExactRows:
        """The rows by epoch, site and keys, texts by code point."""
        names = ["epoch_start", "site", *(f"key{at}" for at in range(len(self.grouping.expressions)))]
        found = found.combine_chunks()
        order = np.lexsort([_ranks(found[name]) for name in reversed(names)])
        batches = found.take(pa.array(order)).combine_chunks().to_batches()
        batch = batches[0] if batches else pa.RecordBatch.from_pylist([], found.schema)
        return ExactRows(self, self._readings, batch)


@dataclass(frozen=True)
class ExactRows:
    """The rows of one chunk of epochs, sorted."""

    query: ExactQuery
    readings: WantedReductions
    batch: pa.RecordBatch

    @cached_property
    def _cells(self) -> list[tuple[CellKey, int, int]]:
        """Each cell with where its rows begin and end."""
        if not self.batch.num_rows:
            return []
        starts, sites = self.batch["epoch_start"].to_numpy(), self.batch["site"]
        codes = sites.dictionary_encode().indices.to_numpy()
        border = np.flatnonzero((starts[1:] != starts[:-1]) | (codes[1:] != codes[:-1])) + 1
        begins = [0, *border.tolist()]
        ends = [*border.tolist(), len(starts)]
        epoch_of = self.query.source.clock.epoch_of
        return [
            ((epoch_of(int(starts[begin])), sites[begin].as_py()), begin, end)
            for begin, end in zip(begins, ends, strict=True)
        ]  # fmt: skip

    @cached_property
    def counted(self) -> dict[int, dict[str, int]]:
        """By epoch and site how many events count."""
        events, found = self.batch["events"].to_numpy(), dict[int, dict[str, int]]()
        for (epoch, site), begin, end in self._cells:
            found.setdefault(epoch, {})[site] = int(events[begin:end].sum())
        return found

    def synopses(self, intake: Intake, epoch: int) -> dict[str, Synopsis]:
        """By site, where there is anything, the exact synopsis of an epoch."""
        summary, clock = intake.summary, self.query.source.clock
        found = {}
        for key, begin, end in self._cells:
            if key[0] != epoch:
                continue
            part = self.batch.slice(begin, end - begin)
            if summary.measure.column:
                read = pc.greater(part[f"count{self.readings.number(summary.measure.column)}"], 0)
                part = part if pc.all(read).as_py() else part.filter(read)
            if not part.num_rows:
                continue
            rows = self._rows(intake, part)
            refused = summary.refused(rows)
            if refused is not None:
                rows = rows.filter(pc.invert(refused))
            cell = Cell(key[1], key[0], clock.start_of(key[0]), clock.end_of(key[0]), intake.tick)
            found[key[1]] = summary.build(cell, rows)
        return found

    def _rows(self, intake: Intake, part: pa.RecordBatch) -> Rows:
        summary = intake.summary
        keys = {name: part[f"key{at}"] for at, name in enumerate(summary.keys)}
        values, events = self.readings.reduced(summary.measure, part, lambda at: f"row {at}")
        if not summary.hashed:
            return Rows(keys, values, events)
        hashed = {
            name: column if name == TICK else pa.array(hash_strings(column, SPARK_SEED))
            for name, column in keys.items()
        }
        order = pa.array(np.lexsort([column.to_numpy() for column in reversed(hashed.values())]))
        return Rows({name: column.take(order) for name, column in hashed.items()}, values.take(order),
                    events.take(order))  # fmt: skip


def exact_queries(source: Source, intakes: Collection[Intake]) -> list[ExactQuery]:
    """As few queries as the intakes allow."""
    return [ExactQuery(source, grouping) for grouping in groupings_of(intakes)]


def _ranks(column: pa.ChunkedArray) -> NDArray[Any]:
    """Numbers with the order of the column's values: few different texts are compared, then whole numbers."""
    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        return np.asarray(column.to_numpy())
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return np.asarray(ranks[encoded.indices.to_numpy()])
