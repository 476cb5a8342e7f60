"""All groupings of a source's events in one aggregation of one scan: Spark's grouping sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING

from jobs.spark import bits
from jobs.spark.event_columns import EventColumns
from jobs.spark.groupings import Grouping
from jobs.spark.readings import WantedReductions

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

LETTERS = "letters"
"""Bytes of the texts of a key, where only their hashes are grouped."""
_CELL = ("epoch_start", "site")
_MOST_COLUMNS = 60
"""By which Spark groups at once, of the 64 that it allows."""


def key_name(position: int, number: bool) -> str:
    """The column of a key. At one position it is a number in one grouping and a text in another: then it has two."""
    return f"{'number' if number else 'text'}{position}"


def aggregated(
    events: DataFrame, groupings: Sequence[Grouping], columns: EventColumns, readings: WantedReductions
) -> DataFrame:  # fmt: skip
    """A row for each grouping, cell and key that some event counts for: its number, its events, its readings."""
    sets = [_Set(number, grouping) for number, grouping in enumerate(groupings)]
    parts = [_together(events, some, sets, columns, readings) for some in _few_columns(sets)]
    return reduce(lambda one, other: one.unionByName(other), parts)


@dataclass(frozen=True)
class _Set:
    """One grouping among others; its columns carry its number."""

    number: int
    grouping: Grouping

    @cached_property
    def slots(self) -> dict[str, str]:
        """By the name of a key the column that holds it here; of a grouping without keys, one that says what counts."""
        if not self.grouping.expressions:
            return {"": f"counted_{self.number}"} if self.grouping.where else {}
        keys = range(1 if self.grouping.bits is not None else len(self.grouping.expressions))
        return {key_name(at, self.grouping.is_number(at)): f"key_{self.number}_{at}" for at in keys}

    @property
    def carried(self) -> dict[str, str]:
        """By name the columns beside keys and readings."""
        if self.grouping.bits is not None:
            return {name: f"{name}_{self.number}" for name in (bits.BIT, bits.SAMPLE)}
        return {LETTERS: f"{LETTERS}_{self.number}"} if self.grouping.hashed else {}

    def with_columns(self, events: DataFrame, columns: EventColumns, alone: bool) -> DataFrame:
        """The events with the keys of those that count, null for the others; where it is alone, without the others."""
        from pyspark.sql import functions as F

        grouping, hashed = self.grouping, f"hash_{self.number}"
        texts = grouping.keys(columns)
        if grouping.bits is not None:
            events = bits.with_hash(events, texts[0], grouping.bits.seed, hashed)
            keys = [bits.bitmap_of(grouping.bits, hashed)]
            made = [bits.bit_of(grouping.bits, hashed), bits.sample_of(hashed, grouping.letters(texts))]
        else:
            keys = grouping.hashes(texts) if grouping.hashed else list(texts)
            made = [grouping.letters(texts)] if grouping.hashed else []
        counted = columns.counted(grouping.where, texts)
        if not grouping.expressions and counted is not None:
            keys = [F.lit(True)]
        if counted is not None and alone:
            events = events.where(counted)
        elif counted is not None:
            keys = [F.when(counted, key) for key in keys]
        named = dict(zip((*self.slots.values(), *self.carried.values()), (*keys, *made), strict=True))
        return events.withColumns(named) if named else events

    def aggregates(self) -> Iterator[Column]:
        from pyspark.sql import functions as F

        ways = {LETTERS: F.max, bits.BIT: F.bit_or, bits.SAMPLE: F.min}
        return (ways[name](column).alias(column) for name, column in self.carried.items())


def _together(
    events: DataFrame, chosen: Sequence[_Set], all_sets: Sequence[_Set], columns: EventColumns,
    readings: WantedReductions,
) -> DataFrame:  # fmt: skip
    """Some of the sets, in one scan, with the columns that all of them have."""
    from pyspark.sql import functions as F

    for one in chosen:
        events = one.with_columns(events, columns, alone=len(chosen) == 1)
    made = [column for one in chosen for column in (*one.slots.values(), *one.carried.values())]
    rows = events.select(*_CELL, *made, *readings.carried(columns))
    keys = [*_CELL, *(column for one in chosen for column in one.slots.values())]
    sums = [F.count(F.lit(1)).alias("events"), *readings.aggregates()]
    sums += [column for one in chosen for column in one.aggregates()]
    if len(chosen) == 1:
        found = rows.groupBy(*keys).agg(*sums).withColumn("grouping", F.lit(chosen[0].number))
    else:
        found = rows.groupingSets([[*_CELL, *one.slots.values()] for one in chosen], *keys).agg(
            F.grouping_id().alias("set"), *sums
        )
        numbers = (F.when(F.col("set") == _mask(keys, one), F.lit(one.number)) for one in chosen)
        found = found.withColumn("grouping", F.coalesce(*numbers))
        first = [(one.number, column) for one in chosen for column in list(one.slots.values())[:1]]
        counts = [(F.col("grouping") != number) | F.col(column).isNotNull() for number, column in first]
        found = found.where(reduce(lambda one, other: one & other, counts, F.lit(True)))
    own = {*made, *_CELL, "grouping", "set"}
    sums_made = [name for name in found.columns if name not in own]
    return found.select("grouping", *_CELL, *_slots(chosen, all_sets), *sums_made)


def _mask(keys: Sequence[str], one: _Set) -> int:
    """What `grouping_id` says of a set: a bit for each key that is not in it."""
    inside = {*_CELL, *one.slots.values()}
    return int("".join("0" if key in inside else "1" for key in keys), 2)


def _slots(chosen: Sequence[_Set], all_sets: Sequence[_Set]) -> Iterator[Column]:
    """The columns that all sets have together, each filled by the set that a row is of."""
    from pyspark.sql import functions as F

    types = {LETTERS: "int"}
    for name in dict.fromkeys(name for one in all_sets for name in (*one.slots, *one.carried) if name):
        kind = types.get(name, "string" if name.startswith("text") else "bigint")
        filled = [
            F.when(F.col("grouping") == one.number, F.col(column))
            for one in chosen
            for own, column in (one.slots | one.carried).items()
            if own == name
        ]
        yield F.coalesce(*filled, F.lit(None)).cast(kind).alias(name)


def _few_columns(sets: Sequence[_Set]) -> Iterator[list[_Set]]:
    """The sets in parts of so many columns as Spark groups by at once; almost always one part."""
    part: list[_Set] = []
    for one in sets:
        if part and sum(len(each.slots) for each in (*part, one)) > _MOST_COLUMNS:
            yield part
            part = []
        part.append(one)
    yield part
