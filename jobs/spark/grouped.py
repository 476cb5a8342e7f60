"""Summaries that need each key once: the JVM groups, and a cell's rows arrive together as columns of Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jobs.spark.bits import BIT, LONGEST, SAMPLE
from jobs.spark.building import CellOutcome, Making, OutcomeBatches
from jobs.spark.event_columns import EventColumns
from jobs.spark.expanding import LETTERS, aggregated, key_name
from jobs.spark.groupings import Grouping
from jobs.spark.readings import WantedReductions
from jobs.spark.shipping import shipping_of, shipping_of_sample
from monitoring_lib.hashing import SPARK_SEED, hash_strings
from monitoring_lib.summaries import TICK, HashBits, Intake, Rows
from monitoring_lib.synopses.fm import likelihood_estimates

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CELL = ("grouping", "epoch_start", "site")
_HASH = "cell"
"""Brings a cell's rows together. A column of 64 bits is sorted by its digits, without a comparison."""
_SIGN = np.uint64(1 << 63)


def grouped(
    events: DataFrame, groupings: Sequence[Grouping], columns: EventColumns, file_order: DataFrame | None,
    making: Making,
) -> DataFrame:  # fmt: skip
    """One row a (intake, site, epoch) that has events, of one scan."""
    from pyspark.sql import functions as F

    readings = WantedReductions.of(groupings)
    if readings.ordered:
        events = _with_paths(events, file_order)
    sums = (
        aggregated(events, groupings, columns, readings)
        .withColumn(_HASH, F.xxhash64(*_CELL))
        .repartition(_HASH)
        .sortWithinPartitions(_HASH)
    )
    return sums.mapInArrow(BuildCells(tuple(groupings), readings, making), making.ddl)


def _with_paths(events: DataFrame, file_order: DataFrame | None) -> DataFrame:
    """The path of each event's file beside it; a file that landed under two paths counts as the first."""
    from pyspark.sql import functions as F

    if file_order is None:
        raise ValueError("a measure `last` needs the paths of the files, to order events of the same time")
    paths = file_order.groupBy("digest").agg(F.min("path").alias("path"))
    return events.join(F.broadcast(paths), "digest", "left")


@dataclass(frozen=True)
class BuildCells:
    """The function that Spark maps over groups, cell after cell: it builds each when its last row has come."""

    groupings: tuple[Grouping, ...]
    readings: WantedReductions
    making: Making

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = OutcomeBatches(self.making)
        for cell in cells(batches):
            for outcome in self._built(cell):
                yield from out.add(outcome)
        yield from out.rest()

    def _built(self, cell: pa.RecordBatch) -> Iterator[CellOutcome]:
        grouping = self.groupings[cell["grouping"][0].as_py()]
        if grouping.expressions:
            names = (key_name(position, grouping.is_number(position)) for position in range(len(grouping.expressions)))
            cell = cell.sort_by([(name, "ascending") for name in names])
        site, start = cell["site"][0].as_py(), cell["epoch_start"][0].value
        for intake in grouping.intakes:
            outcome = CellOutcome(intake.name, site, start)
            with outcome.guarded():
                self._build(outcome, intake, grouping, cell)
            if outcome.events or outcome.fault:
                yield outcome

    def _build(self, outcome: CellOutcome, intake: Intake, grouping: Grouping, cell: pa.RecordBatch) -> None:
        if grouping.bits is not None:
            self._set_bits(outcome, intake, grouping.bits, cell)
            return
        column = intake.summary.measure.column
        if column:
            read = pc.greater(cell[f"count{self.readings.number(column)}"], 0)
            cell = cell if pc.all(read).as_py() else cell.filter(read)
        if not cell.num_rows:
            return
        rows = self._rows(grouping, intake, cell)
        outcome.payload = self.making.build(outcome, intake, rows).to_bytes()
        exact = intake.name in self.making.exact
        outcome.shipping = len(outcome.payload) if exact else shipping_of(rows, _letters(grouping, cell))

    def _set_bits(self, outcome: CellOutcome, intake: Intake, bits: HashBits, cell: pa.RecordBatch) -> None:
        bitmaps = np.zeros(bits.bitmaps, np.uint64)
        bitmaps[cell[key_name(0, True)].to_numpy()] = cell[BIT].to_numpy().view(np.uint64)
        outcome.events = pc.sum(cell["events"]).as_py()
        outcome.payload = intake.summary.of_bits(bitmaps).to_bytes()
        keys = min(float(likelihood_estimates(bitmaps[np.newaxis], bits.levels)[0]), outcome.events)
        outcome.shipping = shipping_of_sample(
            round(keys), (cell[SAMPLE].to_numpy() & LONGEST).astype(np.int32), outcome.events
        )

    def _rows(self, grouping: Grouping, intake: Intake, cell: pa.RecordBatch) -> Rows:
        summary = intake.summary
        columns: dict[str, pa.Array] = {}
        for position, key in enumerate(summary.keys):
            column = cell[key_name(position, grouping.is_number(position))]
            if key == TICK or not summary.hashed:
                columns[key] = column
            elif grouping.hashed:
                columns[key] = unsigned(column)
            else:
                columns[key] = pa.array(hash_strings(column, SPARK_SEED))
        values, counts = self.readings.reduced(summary.measure, cell, lambda at: _described(grouping, cell, at))
        rows = Rows(columns, values, counts)
        return _sorted(rows) if summary.hashed and not grouping.hashed else rows


def _letters(grouping: Grouping, cell: pa.RecordBatch) -> NDArray[np.int32]:
    """The bytes of the texts of each row."""
    if grouping.hashed:
        return cell[LETTERS].to_numpy()  # type: ignore[no-any-return]
    texts = [cell[key_name(at, False)] for at, key in enumerate(grouping.expressions) if not isinstance(key, int)]
    return sum((pc.binary_length(text).to_numpy() for text in texts), np.zeros(cell.num_rows, np.int32))


def unsigned(column: pa.Array) -> pa.Array:
    """The hashes that `ordered_hash` made."""
    return pa.array(column.to_numpy(zero_copy_only=False).view(np.uint64) ^ _SIGN)


def _sorted(rows: Rows) -> Rows:
    keys: list[NDArray[Any]] = [column.to_numpy(zero_copy_only=False) for column in rows.keys.values()]
    order = pa.array(np.lexsort(keys[::-1]))
    return Rows({name: column.take(order) for name, column in rows.keys.items()},
                rows.values.take(order), rows.events.take(order))  # fmt: skip


def _described(grouping: Grouping, cell: pa.RecordBatch, row: int) -> str:
    """The key of a row, for a message."""
    names = [key_name(position, grouping.is_number(position)) for position in range(len(grouping.expressions))]
    return ", ".join(
        f"{expression if isinstance(expression, str) else TICK} {cell[name][row].as_py()!r}"
        for expression, name in zip(grouping.expressions, names, strict=True)
    )


def cells(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each cell's rows in one piece; a cell may lie in several batches."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        hashes = batch[_HASH].to_numpy()
        if held and held[-1][_HASH][-1].as_py() != hashes[0]:
            yield from _apart(_joined(held))
            held = []
        borders = [0, *(np.flatnonzero(hashes[1:] != hashes[:-1]) + 1).tolist(), batch.num_rows]
        pieces = [batch.slice(start, end - start) for start, end in pairwise(borders)]
        told_apart = _are_told_apart(batch, hashes)
        for piece in pieces[:-1]:
            if held or not told_apart:
                yield from _apart(_joined([*held, piece]))
                held = []
            else:
                yield piece
        held.append(pieces[-1])
    if held:
        yield from _apart(_joined(held))


def _are_told_apart(batch: pa.RecordBatch, hashes: NDArray[np.int64]) -> bool:
    """Whether rows beside each other are of one cell wherever they have the same hash: asked once for all cells."""
    same = hashes[1:] == hashes[:-1]
    pairs = (pc.equal(batch[name][1:], batch[name][:-1]).to_numpy(zero_copy_only=False) for name in _CELL)
    return all(bool(equal[same].all()) for equal in pairs)


def _apart(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The cells that have the same hash: almost always one."""
    while rows.num_rows:
        of_first = reduce(pc.and_, (pc.equal(rows[name], rows[name][0]) for name in _CELL))
        if pc.all(of_first).as_py():
            yield rows
            return
        yield rows.filter(of_first)
        rows = rows.filter(pc.invert(of_first))


def _joined(pieces: list[pa.RecordBatch]) -> pa.RecordBatch:
    return pieces[0] if len(pieces) == 1 else pa.concat_batches(pieces)
