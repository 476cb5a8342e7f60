"""Intakes that ask for the same rows: one grouping of the events serves them all, whatever they measure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING

from jobs.spark.event_columns import EventColumns, ordered_hash
from monitoring_lib.summaries import TICK, HashBits, Intake

if TYPE_CHECKING:
    from pyspark.sql import Column

_IN_PARTS = ("count", "sum")
"""Measures whose rows may be single events: a sum of parts is the whole, a mean or the last of them is not."""


@dataclass(frozen=True)
class Grouping:
    """Intakes with the same `where` and the same keys in the same order."""

    where: str
    expressions: tuple[str | int, ...]
    """Of each key: its expression, or the length of its ticks."""
    intakes: tuple[Intake, ...]

    @cached_property
    def hashed(self) -> bool:
        """Whether hashes of the texts are enough for all of its intakes."""
        return all(intake.summary.hashed for intake in self.intakes)

    @cached_property
    def in_parts(self) -> bool:
        """Whether all of its intakes can be built where the events are."""
        return all(intake.summary.in_parts and intake.summary.measure.reduction in _IN_PARTS for intake in self.intakes)

    @cached_property
    def bits(self) -> HashBits | None:
        """The bits that all of its intakes are made of, where they are made of the same."""
        wanted = {intake.summary.hash_bits for intake in self.intakes}
        return wanted.pop() if len(wanted) == 1 else None

    @property
    def values(self) -> set[str]:
        """The value columns that its intakes measure."""
        return {intake.summary.measure.column for intake in self.intakes} - {""}

    def is_number(self, position: int) -> bool:
        """Whether the key at a position is grouped by a number: a tick, or a text's hash."""
        return self.hashed or isinstance(self.expressions[position], int)

    def keys(self, events: EventColumns) -> list[Column]:
        """Of each key the column of its texts or ticks."""
        return [events.tick(key) if isinstance(key, int) else events.text(key) for key in self.expressions]

    def hashes(self, keys: Sequence[Column]) -> list[Column]:
        """The keys with hashes in the place of texts."""
        return [
            key if isinstance(expression, int) else ordered_hash(key)
            for key, expression in zip(keys, self.expressions, strict=True)
        ]

    def letters(self, keys: Sequence[Column]) -> Column:
        """The bytes of all texts of a key together."""
        from pyspark.sql import functions as F

        lengths = [
            F.octet_length(key)
            for key, expression in zip(keys, self.expressions, strict=True)
            if not isinstance(expression, int)
        ]
        return reduce(lambda one, other: one + other, lengths) if lengths else F.lit(0)


def groupings_of(intakes: Iterable[Intake]) -> list[Grouping]:
    """The intakes, each name once, put together where they can share rows."""
    by_rows: dict[tuple[str, tuple[str | int, ...]], dict[str, Intake]] = {}
    for intake in intakes:
        keys = tuple(intake.tick if key == TICK else intake.keys[key] for key in intake.summary.keys)
        by_rows.setdefault((intake.where, keys), {}).setdefault(intake.name, intake)
    return [
        Grouping(where, keys, intakes)
        for (where, keys), named in by_rows.items()
        for intakes in _by_bits(named.values())
    ]


def _by_bits(intakes: Collection[Intake]) -> list[tuple[Intake, ...]]:
    """Apart where all are made of bits, of unlike ones; else together, made of the rows that some of them need."""
    found: dict[HashBits | None, list[Intake]] = {}
    for intake in intakes:
        found.setdefault(intake.summary.hash_bits, []).append(intake)
    return [tuple(intakes)] if None in found else [tuple(alike) for alike in found.values()]
