"""Summaries that work on parts of a cell: built where the events are, so that no item crosses between tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from jobs.spark.building import CellOutcome, Making
from jobs.spark.event_columns import EventColumns
from jobs.spark.groupings import Grouping
from jobs.spark.merging import PART, MergeParts
from jobs.spark.shipping import KeySample
from monitoring_lib.hashing import SPARK_SEED, hash_strings
from monitoring_lib.summaries import TICK, Intake, Rows
from monitoring_lib.synopses.base import Synopsis

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_CHUNK = 1 << 19
"""Events that are taken in at once: many enough that a call for each cell does not count."""
_MOST_HELD = 4_096
"""Sketches that a task keeps before it hands them on."""


def in_parts(events: DataFrame, groupings: Sequence[Grouping], columns: EventColumns, making: Making) -> DataFrame:
    """One row a (intake, site, epoch) that has events, of one scan."""
    if len(groupings) == 1:
        counted = columns.counted(groupings[0].where, groupings[0].keys(columns))
        events = events if counted is None else events.where(counted)
    selected: list[Column | str] = ["epoch_start", "site"]
    for number, grouping in enumerate(groupings):
        selected += _columns(number, grouping, columns, alone=len(groupings) == 1)
    values = sorted(set().union(*(grouping.values for grouping in groupings)))
    selected += [columns.reading(value).alias(f"value{at}") for at, value in enumerate(values)]
    parts = events.select(*selected).mapInArrow(BuildParts(tuple(groupings), tuple(values), making), PART)
    cell = ("intake", "epoch_start", "site")
    intakes = tuple(intake for grouping in groupings for intake in grouping.intakes)
    return parts.repartition(*cell).sortWithinPartitions(*cell).mapInArrow(MergeParts(intakes, making), making.ddl)


def _columns(number: int, grouping: Grouping, columns: EventColumns, alone: bool) -> Iterator[Column]:
    """Of each event: whether it is counted (all are if a grouping is alone), keys, their hash, bytes of texts."""
    from pyspark.sql import functions as F

    texts = grouping.keys(columns)
    keys = grouping.hashes(texts) if grouping.hashed else texts
    counted = columns.counted(grouping.where, texts)
    if counted is not None and not alone:
        yield F.coalesce(counted, F.lit(False)).alias(f"counted{number}")
    for position, key in enumerate(keys):
        yield key.alias(f"key{number}_{position}")
    if not _identified(grouping):
        yield (F.xxhash64(*texts) if texts else F.lit(0).cast("bigint")).alias(f"identity{number}")
    yield grouping.letters(texts).alias(f"letters{number}")


def _identified(grouping: Grouping) -> bool:
    """Whether its only key is a hash already."""
    return grouping.hashed and len(grouping.expressions) == 1 and not isinstance(grouping.expressions[0], int)


@dataclass
class _CellPart:
    """What a task has of one intake in one cell."""

    outcome: CellOutcome
    synopsis: Synopsis | None = None
    sample: KeySample = field(default_factory=KeySample.none)


@dataclass(frozen=True)
class BuildParts:
    """The function that Spark maps over events."""

    groupings: tuple[Grouping, ...]
    values: tuple[str, ...]
    making: Making

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: dict[tuple[int, str, int], _CellPart] = {}
        for chunk in _chunks(batches):
            self._take_in(chunk, held)
            if len(held) > _MOST_HELD:
                yield _batch(held)
                held = {}
        if held:
            yield _batch(held)

    def _take_in(self, chunk: pa.RecordBatch, held: dict[tuple[int, str, int], _CellPart]) -> None:
        codes, cells = _coded(chunk)
        order = np.argsort(codes, kind="stable") if len(cells) > 1 else np.arange(len(codes))
        first = 0
        for number, grouping in enumerate(self.groupings):
            chosen = order
            if f"counted{number}" in chunk.schema.names:
                chosen = order[chunk[f"counted{number}"].to_numpy(zero_copy_only=False)[order]]
            taken = chunk if len(chosen) == len(order) and len(cells) == 1 else _taken(chunk, number, chosen)
            ends = np.cumsum(np.bincount(codes[chosen], minlength=len(cells)))
            for cell, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
                if end > start:
                    piece = taken.slice(start, end - start)
                    for at, intake in enumerate(grouping.intakes, first):
                        self._build((at, *cells[cell]), intake, number, piece, held)
            first += len(grouping.intakes)

    def _build(
        self, key: tuple[int, str, int], intake: Intake, number: int, events: pa.RecordBatch,
        held: dict[tuple[int, str, int], _CellPart],
    ) -> None:  # fmt: skip
        part = held.setdefault(key, _CellPart(CellOutcome(intake.name, key[1], key[2])))
        if part.outcome.fault:
            return
        with part.outcome.guarded():
            measure = intake.summary.measure
            if measure.column:
                read = events[f"value{self.values.index(measure.column)}"]
                events = events.filter(read.is_valid()) if read.null_count else events
            if not events.num_rows:
                return
            made = self.making.build(part.outcome, intake, self._rows(intake, number, events))
            part.synopsis = made if part.synopsis is None else intake.summary.merge([part.synopsis, made])
            part.sample = part.sample.joined(*self._identities(number, events))

    def _rows(self, intake: Intake, number: int, events: pa.RecordBatch) -> Rows:
        summary, grouping = intake.summary, self.groupings[number]
        keys: dict[str, pa.Array] = {}
        for position, name in enumerate(summary.keys):
            column = events[f"key{number}_{position}"]
            if name != TICK and grouping.hashed:
                column = pa.array(_unsigned(column))
            elif name != TICK and summary.hashed:
                column = pa.array(hash_strings(column, SPARK_SEED))
            keys[name] = column
        ones = pa.array(np.ones(events.num_rows, np.int64))
        measure = summary.measure
        counted = measure.reduction == "count"
        return Rows(keys, ones if counted else events[f"value{self.values.index(measure.column)}"], ones)

    def _identities(self, number: int, events: pa.RecordBatch) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        identity = f"identity{number}"
        column = events[identity if identity in events.schema.names else f"key{number}_0"]
        return _unsigned(column), events[f"letters{number}"].to_numpy()


def _unsigned(column: pa.Array) -> NDArray[np.uint64]:
    """The hashes that `ordered_hash` made, or others as uniform as they are."""
    hashes: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return hashes.view(np.uint64) ^ np.uint64(1 << 63)


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(part.num_rows for part in held) >= _CHUNK:
            yield pa.concat_batches(held)
            held = []
    if any(part.num_rows for part in held):
        yield pa.concat_batches(held)


def _coded(chunk: pa.RecordBatch) -> tuple[NDArray[Any], list[tuple[str, int]]]:
    """The number of each event's cell, and the cells."""
    sites, starts = chunk["site"].dictionary_encode(), chunk["epoch_start"].cast(pa.int64()).dictionary_encode()
    names, times = sites.dictionary.to_pylist(), starts.dictionary.to_pylist()
    codes = sites.indices.to_numpy().astype(np.int64)
    if len(times) > 1:
        codes = codes * len(times) + starts.indices.to_numpy()
    cells = [(name, time) for name in names for time in times]
    # Numbers of 16 bits are sorted by counting, which is several times as fast.
    return codes.astype(np.uint16) if len(cells) <= 1 << 16 else codes, cells


def _taken(chunk: pa.RecordBatch, number: int, chosen: NDArray[Any]) -> pa.RecordBatch:
    """The events in an order that puts cells together, with the columns of a grouping."""
    names = [
        name
        for name in chunk.schema.names
        if name.startswith((f"key{number}_", "value")) or name in (f"identity{number}", f"letters{number}")
    ]
    return chunk.select(names).take(pa.array(chosen))


def _batch(held: dict[tuple[int, str, int], _CellPart]) -> pa.RecordBatch:
    parts = [(key[0], part) for key, part in held.items() if part.synopsis is not None or part.outcome.fault]
    outcomes = [part.outcome for _, part in parts]
    return pa.RecordBatch.from_pydict(
        {
            "intake": pa.array([intake for intake, _ in parts], pa.int32()),
            "site": pa.array([outcome.site for outcome in outcomes], pa.string()),
            "epoch_start": pa.array([outcome.start for outcome in outcomes], pa.int64()),
            "events": pa.array([outcome.events for outcome in outcomes], pa.int64()),
            "refused": pa.array([outcome.refused for outcome in outcomes], pa.int64()),
            "payload": pa.array([part.synopsis.to_bytes() if part.synopsis else b"" for _, part in parts], pa.binary()),
            "hashes": pa.array([part.sample.hashes.tobytes() for _, part in parts], pa.binary()),
            "letters": pa.array([part.sample.letters.tobytes() for _, part in parts], pa.binary()),
            "fault": pa.array([outcome.fault for outcome in outcomes], pa.string()),
        }
    )
