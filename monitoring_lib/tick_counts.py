"""Exact counts by tick and item: the summary of every question about recent time, and the truth's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitoring_lib.codec import Ints, Names
from monitoring_lib.summaries import TICK, Cell, Rows, Summary
from monitoring_lib.synopses.base import Synopsis


def _none() -> Ints:
    return np.empty(0, np.int64)


@dataclass(slots=True)
class TickCounts(Synopsis, tag=50, version=1):
    """How often each item occurred in each tick, exact. Rows are sorted by tick, then by name, none twice."""

    ticks: Ints = field(default_factory=_none)
    names: Names = field(default_factory=Names)
    counts: Ints = field(default_factory=_none)

    def __post_init__(self) -> None:
        self.names = Names(self.names)
        if not self.ticks.shape == self.counts.shape == (len(self.names),):
            raise ValueError(f"ticks, counts: {len(self.names)} each expected, one a name")
        if len(self.ticks) and ((self.ticks[1:] < self.ticks[:-1]).any() or self.counts.min() < 1):
            raise ValueError("ticks, counts: ticks must not fall, counts must be above 0")

    def __len__(self) -> int:
        return len(self.ticks)

    def between(self, first: int, end: int) -> TickCounts:
        """The rows of the ticks from `first` up to but not including `end`."""
        low, high = np.searchsorted(self.ticks, [first, end]).tolist()
        if (low, high) == (0, len(self)):
            return self
        return TickCounts(self.ticks[low:high], Names(self.names.column[low:high]), self.counts[low:high])

    @classmethod
    def _merged_all(cls, parts: Sequence[Self]) -> Self:
        table = pa.table(
            {
                "tick": np.concatenate([part.ticks for part in parts]),
                "item": pa.chunked_array([part.names.column for part in parts], pa.string()),
                "count": np.concatenate([part.counts for part in parts]),
            }
        )
        summed = table.group_by(["tick", "item"]).aggregate([("count", "sum")])
        summed = summed.sort_by([("tick", "ascending"), ("item", "ascending")])
        return cls(summed["tick"].to_numpy(), Names(summed["item"]), summed["count_sum"].to_numpy())


@dataclass(frozen=True)
class TickItemCounts(Summary):
    """Each item of each tick of a cell, with how many events it had.

    With `bits`, an item that is no whole number below ``2 ** bits`` is refused. Whole numbers are written in digits
    without leading zeros, so that every number has one name.
    """

    bits: int | None = None

    synopsis = TickCounts

    @property
    def keys(self) -> tuple[str, ...]:
        return (TICK, "item")

    def build(self, cell: Cell, rows: Rows) -> TickCounts:
        return TickCounts(np.array(rows.keys[TICK]), Names(rows.keys["item"]), np.array(rows.values))

    def refused(self, rows: Rows) -> pa.Array | None:
        if self.bits is None:
            return None
        return pc.invert(are_whole_numbers(rows.keys["item"], self.bits))


def are_whole_numbers(items: Any, bits: int) -> pa.Array:
    """Which texts are whole numbers below ``2 ** bits``; of equal length, digits sort as their numbers do."""
    texts, largest = Names(items).column, str((1 << bits) - 1)
    length = pc.binary_length(texts)
    small = pc.or_(
        pc.less(length, len(largest)), pc.and_(pc.equal(length, len(largest)), pc.less_equal(texts, largest))
    )
    return pc.and_(pc.match_substring_regex(texts, "^(0|[1-9][0-9]*)$"), small)


def is_whole_number(item: str, bits: int) -> bool:
    return bool(are_whole_numbers([item], bits)[0].as_py())
