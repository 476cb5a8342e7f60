"""What counters of frequent items share: named counts that never exceed the exact ones."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow.compute as pc

from monitoring_lib.codec import Ints
from monitoring_lib.synopses._items import (
    Column,
    Items,
    as_items,
    as_weights,
    check_total,
    joined,
    taken,
    total_of,
)
from monitoring_lib.synopses._sums import large_sums_by_item, sums_by_item
from monitoring_lib.synopses.base import Bound, Synopsis


@dataclass(slots=True, kw_only=True)
class Frequent(Synopsis):
    """Counters of some items, in increasing order of the items, each at most `lowered` below the exact count;
    an item without a counter occurred at most `lowered` times. Subclasses say how much is taken off, and
    when."""

    MERGES_LOWER: ClassVar[bool]
    """Whether a merge takes something off too."""

    total: int = 0
    lowered: int = 0
    items: Items = field(default_factory=Items)
    counts: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        if self.counts.shape != (len(self.items),) or np.any(self.counts <= 0):
            raise ValueError("counts: one above 0 expected for each item")
        if not self.items.increase():
            raise ValueError("items: each must be greater than the one before")
        check_total("total", self.total)
        if not 0 <= self.lowered <= self.total or sum(self.counts.tolist()) > self.total:
            raise ValueError(f"total: {self.total} is less than what was counted or lowered")

    def update(self, items: Any, weights: Any = None) -> None:
        """Adds one batch of items."""
        column = as_items(items)
        given = as_weights(weights, len(column))
        standing = self.items.column()
        joined(standing[:1], column[:1])  # refuses strings beside whole numbers before anything has changed
        total = self.total + total_of(given, len(column))
        check_total("weights", total)
        self.total = total
        found = large_sums_by_item(column, given, self._least_excess(), standing, self.counts)
        self._absorb(*found, lower=True)

    def estimate(self, item: str | int) -> int:
        known: Any = self.items.names if isinstance(item, str) else self.items.numbers
        at = bisect_left(known, item)
        return int(self.counts[at]) if at < len(known) and known[at] == item else 0

    def bound(self, item: str | int) -> Bound:
        low = self.estimate(item)
        return Bound(low, low + self.lowered, parts={"sketch": float(self.lowered)})

    def heavy_hitters(self, share: float) -> list[tuple[str | int, int]]:
        """The items that may occur more than ``share * total`` times with their counts, most frequent first:
        none that does is missing, and each of them occurs more than ``share * total - lowered`` times."""
        if not 0 <= share <= 1:
            raise ValueError(f"share: {share} is not between 0 and 1")
        threshold = math.floor(Fraction(share) * self.total) - self.lowered  # a float's product may be too large
        found = [(item, count) for item, count in self if count > threshold]
        return sorted(found, key=lambda entry: -entry[1])

    def __iter__(self) -> Iterator[tuple[str | int, int]]:
        return zip(self.items, self.counts.tolist(), strict=True)

    def __len__(self) -> int:
        return len(self.counts)

    def mismatch(self, other: Self) -> str | None:
        return self.items.mismatch(other.items)

    @classmethod
    def _merged_all(cls, parts: Sequence[Self]) -> Self:
        """Counter by counter the sum, lowered once."""
        total = sum(part.total for part in parts)
        check_total("parts", total)
        merged = replace(
            parts[0],
            total=total,
            lowered=sum(part.lowered for part in parts),
            items=Items(),
            counts=np.empty(0, np.int64),
        )
        column = joined(*(part.items.column() for part in parts))
        merged._absorb(*sums_by_item(column, np.concatenate([part.counts for part in parts])), cls.MERGES_LOWER)
        return merged

    def _least_excess(self) -> int:
        """How much will be taken off at least, as far as that is known before the counts are."""
        return 0

    def _excess(self, counts: Ints) -> int:
        """How much is to be taken off every one of these counts."""
        raise TypeError(f"{type(self).__name__} does not say how much it takes off its counts")

    def _absorb(self, column: Column, counts: Ints, lower: bool) -> None:
        """Adds counts of items that differ from each other, then lowers all if told to."""
        if len(self.counts):
            column, counts = joined(self.items.column(), column), np.concatenate([self.counts, counts])
            column, counts = sums_by_item(column, counts)
        amount = max(self._excess(counts), 0) if lower else 0
        left = np.flatnonzero(counts > amount)
        column, counts = taken(column, left), counts[left] - amount
        order = np.argsort(column) if isinstance(column, np.ndarray) else pc.sort_indices(column).to_numpy()
        self.lowered += amount
        self.items, self.counts = Items.of(taken(column, order)), counts[order]
