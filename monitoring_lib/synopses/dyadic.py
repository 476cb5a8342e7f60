"""Ranges of items, quantiles and heavy hitters of a window: one ECM sketch a level of a binary tree over the items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from monitoring_lib.hashing import draw
from monitoring_lib.synopses._counters import leaf_error
from monitoring_lib.synopses._items import as_items
from monitoring_lib.synopses._rows import HashRows
from monitoring_lib.synopses._window import Basis, EventWindow
from monitoring_lib.synopses.base import Bound, Synopsis
from monitoring_lib.synopses.ecm import EcmSketch

MOST_BITS = 62


class HeavyHitter(NamedTuple):
    """An item that may have the share asked for; its exact count lies between `low` and `high`."""

    item: int
    estimate: float
    low: float
    high: float


@dataclass(slots=True)
class DyadicEcm(Synopsis, tag=17, version=1):
    """Whole numbers from 0 below ``2 ** bits``; level l counts the blocks of ``2 ** l`` items.

    With N all events of a range of ticks inside the window, and e the error that it was made for::

        |estimate_range - exact| <= e * N                                        with probability confidence
        rank of quantile(share) within share * N  -+  e * N                      with probability confidence
        heavy_hitters(share) misses no item of at least share * N                always

    over the seeds, for one answer. Any range of items is the sum of at most ``q = 2 * bits`` blocks. These do not
    overlap, so the errors of their counters add up to that of the whole range, and only those of the collisions
    add up block by block: counters are made for e / 2 and rows for ``e / 2 / (1 + e / 2) / (q - 1)``, each with
    1 / q of the doubt. (Counters for e / q, as for unrelated queries, would be q / 2 times as large.) A level with
    no more blocks than the rows have cells counts each block on its own, without collisions. Every level has a
    seed of its own: which block a search looks at next then does not depend on the hashes of its level.

    Papapetrou, Garofalakis and Deligiannakis, Sketching Distributed Sliding-Window Data Streams, section 6; Cormode
    and Muthukrishnan, An Improved Data Stream Summary: The Count-Min Sketch and its Applications, section 4.
    """

    levels: list[EcmSketch]
    """Level 0 counts single items, the last one two blocks of half of all items."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.levels) <= MOST_BITS:
            raise ValueError(f"bits: {len(self.levels)} is not between 1 and {MOST_BITS}")
        for below, above in zip(self.levels, self.levels[1:], strict=False):
            reason = below.window.mismatch(above.window)
            if reason is not None:
                raise ValueError(f"levels: of different windows: {reason}")
            if (below.window.newest, below.window.arrived) != (above.window.newest, above.window.arrived):
                raise ValueError("levels: every event is counted at every level, but their clocks differ")
        for level, sketch in enumerate(self.levels):
            if not sketch.rows.hashed and sketch.rows.width < 1 << (self.bits - level):
                raise ValueError(
                    f"levels: {sketch.rows.width} cells for {1 << (self.bits - level)} blocks, each its own"
                )

    @classmethod
    def for_error(
        cls,
        error: float,
        confidence: float,
        bits: int,
        window: int,
        *,
        basis: Basis = "time",
        lateness: int = 0,
        merge_levels: int = 0,
        seed: int = 0,
    ) -> DyadicEcm:
        """The smallest sketches that keep this error, even after `merge_levels` levels of merges."""
        if not 1 <= bits <= MOST_BITS:
            raise ValueError(f"bits: {bits} is not between 1 and {MOST_BITS}")
        if not 0 < error < 1:
            raise ValueError(f"error: {error} is not between 0 and 1")
        blocks = 2 * bits
        rows_error = error / 2 / (1 + error / 2) / max(1, blocks - 1)
        levels = []
        for level, own_seed in enumerate(draw(seed, bits)):
            rows = HashRows.for_error(rows_error, 1 - (1 - confidence) / blocks, int(own_seed))
            if 1 << (bits - level) <= rows.cells:
                rows = HashRows(1, 1 << (bits - level), 0, hashed=False)
            clock = EventWindow(window, basis, lateness)
            levels.append(EcmSketch.of_rows(rows, clock, leaf_error(error / 2, merge_levels)))
        return cls(levels)

    @property
    def bits(self) -> int:
        return len(self.levels)

    def update(self, items: Any, weights: Any = None, *, ticks: Any = None) -> None:
        """Counts events, as `EcmSketch.update` does; items are whole numbers."""
        column = as_items(items)
        if not len(column):
            return
        if not isinstance(column, np.ndarray):
            raise ValueError("items: whole numbers expected; strings have no order that blocks could follow")
        if column.min() < 0 or int(column.max()) >> self.bits:
            raise ValueError(f"items: {column.min()} to {column.max()} found, 0 to {(1 << self.bits) - 1} allowed")
        block = column.astype(np.int64)
        for level in self.levels:
            level.update(block, weights, ticks=ticks)
            block = block >> 1

    def estimate_range(self, first: int, last: int, span: int | None = None, now: int | None = None) -> float:
        """How many events of the last `span` ticks have an item from `first` to `last`, both included."""
        return sum(self.levels[level].estimate(block, span, now) for level, block in self._cover(first, last))

    def bound_range(self, first: int, last: int, span: int | None = None, now: int | None = None) -> Bound:
        """What the exact number lies between; its upper end always holds."""
        bounds = [self.levels[level].bound(block, span, now) for level, block in self._cover(first, last)]
        names = ("sketch", "window", "merge")
        doubt = sum(1 - bound.confidence for bound in bounds)
        return Bound(
            sum(bound.low for bound in bounds),
            sum(bound.high for bound in bounds),
            1 - doubt,
            {name: sum(bound.parts[name] for bound in bounds) for name in names},
        )

    def quantile(self, share: float, span: int | None = None, now: int | None = None) -> int:
        """An item such that about this share of the events has no larger one: 0.5 asks for the median."""
        if not 0 <= share <= 1:
            raise ValueError(f"share: {share} is not between 0 and 1")
        wanted = share * float(self.levels[-1].cells(span, now).estimate.sum())
        block = 0
        for level in reversed(self.levels):
            block *= 2
            left = level.estimate(block, span, now)
            if wanted > left:
                wanted -= left
                block += 1
        return block

    def heavy_hitters(self, share: float, span: int | None = None, now: int | None = None) -> list[HeavyHitter]:
        """Every item of at least this share of the range's events, and perhaps some of a little less; largest first.

        A block is looked into unless its upper bound is below the share of the least that the range can hold.
        """
        if not 0 < share <= 1:
            raise ValueError(f"share: {share} is not above 0 and at most 1")
        threshold = max(1.0, share * self.levels[-1].arrivals(span, now).low)
        blocks = np.zeros(1, np.int64)
        for level in reversed(self.levels):
            blocks = (2 * blocks[:, None] + np.array([0, 1])).ravel()
            lows, highs = level.bounds(blocks, span, now)
            reaches = highs >= threshold
            blocks, lows, highs = blocks[reaches], lows[reaches], highs[reaches]
        estimates = self.levels[0].estimates(blocks, span, now)
        rows = zip(blocks.tolist(), estimates.tolist(), lows.tolist(), highs.tolist(), strict=True)
        return sorted((HeavyHitter(*row) for row in rows), key=lambda found: (-found.estimate, found.item))

    def mismatch(self, other: Self) -> str | None:
        if self.bits != other.bits:
            return f"bits: {self.bits} against {other.bits}"
        reasons = (mine.mismatch(theirs) for mine, theirs in zip(self.levels, other.levels, strict=True))
        return next((reason for reason in reasons if reason is not None), None)

    @property
    def is_neutral(self) -> bool:
        return self.levels[0].is_neutral

    @classmethod
    def _merged_all(cls, parts: Sequence[Self]) -> Self:
        """The sketches of all their events in the order of ticks: one level of merges, however many they are."""
        return cls([EcmSketch.merge_all(level) for level in zip(*(part.levels for part in parts), strict=True)])

    def _cover(self, first: int, last: int) -> list[tuple[int, int]]:
        """The fewest blocks, as (level, block), that hold just the items from `first` to `last`."""
        if not 0 <= first <= last < 1 << self.bits:
            raise ValueError(f"first, last: {first} to {last} is no range within 0 to {(1 << self.bits) - 1}")
        found: list[tuple[int, int]] = []
        left, right = first, last + 1
        for level in range(self.bits):
            if left & 1:
                found.append((level, left))
                left += 1
            if right & 1:
                right -= 1
                found.append((level, right))
            left, right = left >> 1, right >> 1
            if left >= right:
                return found
        return [*found, (self.bits - 1, 0), (self.bits - 1, 1)]
