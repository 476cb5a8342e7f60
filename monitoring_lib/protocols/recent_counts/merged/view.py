"""What merged sketches say about any recent range."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from monitoring_lib.codec import Floats
from monitoring_lib.protocols.recent_counts.merged.sketches import Sketches
from monitoring_lib.protocols.recent_counts.rows import BoundedEstimate, Recent
from monitoring_lib.synopses._rows import without_collisions
from monitoring_lib.tick_counts import is_whole_number

_ROUNDING = 1e-12


class Ranged:
    """One sketch over one range: its Count-Min array is extracted once for all that is asked of it."""

    def __init__(self, sketch: Any, span: int, now: int) -> None:
        self.sketch = sketch
        self.cells = sketch.cells(span, now)
        self.total = sketch.arrivals(span, now)
        """What the number of all events lies between."""

    def estimates(self, items: Any) -> Floats:
        return self._smallest(self.cells.estimate, items)

    def lows(self, items: Any) -> Floats:
        error, most = self.sketch.rows.error, self.cells.most_events
        return without_collisions(self._smallest(self.cells.low, items), error, most)

    def highs(self, items: Any) -> Floats:
        return self._smallest(self.cells.high, items)

    def _smallest(self, table: Floats, items: Any) -> Floats:
        rows = self.sketch.rows
        keys = rows.keys(items)
        found: Floats = np.min([table[row, rows.columns(row, keys)] for row in range(rows.depth)], axis=0)
        return found

    def found(self, item: Any) -> BoundedEstimate:
        estimate, low, high = (float(of([item])[0]) for of in (self.estimates, self.lows, self.highs))
        return BoundedEstimate(estimate, low, high, self.sketch.confidence)


class MergedView(Recent):
    """Merged sketches as they stand after the tick `now`, and the names that the sites have told."""

    def __init__(self, sketches: Sketches, names: Sequence[str], bits: int | None, now: int) -> None:
        self.sketches, self.names, self.bits, self.now = sketches, names, bits, now
        self._known: dict[tuple[int, int], Ranged] = {}

    def _ranged(self, at: int, span: int) -> Ranged:
        """The sketch at a place among all, over a range."""
        if (at, span) not in self._known:
            self._known[at, span] = Ranged(self.sketches.all[at], span, self.now)
        return self._known[at, span]

    def _level(self, level: int, span: int) -> Ranged:
        return self._ranged(level + int(self.sketches.has_flat), span)

    def events(self, span: int) -> BoundedEstimate:
        """All events: of numbers from the top level, whose two blocks have cells of their own."""
        ranged = self._ranged(0, span) if self.sketches.has_flat else self._level(len(self.sketches.levels) - 1, span)
        total = ranged.total
        return BoundedEstimate((total.low + total.high) / 2, total.low, total.high, total.confidence)

    def point(self, item: str, span: int) -> BoundedEstimate:
        if self.bits is not None and not is_whole_number(item, self.bits):
            return BoundedEstimate(0, 0, 0)  # it would have been refused
        return self._ranged(0, span).found(item if self.sketches.has_flat else int(item))

    def self_join(self, span: int) -> BoundedEstimate:
        flat = self.sketches.flat
        bound = flat.bound_self_join(span, self.now)
        return BoundedEstimate(flat.self_join(span, self.now), bound.low, bound.high, bound.confidence)

    def heavy_hitters(self, share: float, span: int) -> dict[str, BoundedEstimate]:
        """With c the error of the counters: ``estimate >= (1 - c) * exact`` and ``high >= exact``, so that no item
        above ``share * N`` fails either test against a lower bound of N."""
        if not self.names:
            return {}
        ranged, names = self._ranged(0, span), np.array(self.names, object)
        least = share * ranged.total.low * (1 - _ROUNDING)
        estimates, highs = ranged.estimates(self.names), ranged.highs(self.names)
        shortfall = 1 - self.sketches.flat.counters.worst_error
        chosen = (highs > least) & (estimates >= shortfall * least)
        items = names[chosen].tolist()
        if not items:
            return {}
        columns = zip(estimates[chosen].tolist(), ranged.lows(items).tolist(), highs[chosen].tolist(), strict=True)
        confidence = self.sketches.flat.confidence
        return {item: BoundedEstimate(*numbers, confidence) for item, numbers in zip(items, columns, strict=True)}

    def between(self, first: int, last: int, span: int) -> BoundedEstimate:
        blocks = cover(first, last, len(self.sketches.levels))
        found = [self._level(level, span).found(block) for level, block in blocks]
        doubt = sum(1 - each.confidence for each in found)
        estimate, low, high = (sum(each[at] for each in found) for at in range(3))
        return BoundedEstimate(estimate, low, high, 1 - doubt)

    def quantile(self, share: float, span: int) -> BoundedEstimate | None:
        """Three searches from the top level down: each goes to the right half where the left one, with all that was
        passed before, holds less than it looks for."""
        tops = self._level(len(self.sketches.levels) - 1, span)
        if tops.total.high == 0:
            return None
        total = tops.total
        middle = float(tops.cells.estimate[0].sum())
        estimate = self._descend(span, share * middle, lambda ranged, block: ranged.estimates([block])[0])
        low = self._descend(span, share * total.low * (1 - _ROUNDING), lambda ranged, block: ranged.highs([block])[0])
        high = self._descend(span, share * total.high * (1 + _ROUNDING), lambda ranged, block: ranged.lows([block])[0])
        levels = self.sketches.levels
        # A block a level for each end; the upper ends of histograms and deterministic waves always hold.
        ends = 2 if self.sketches.randomised else 1
        doubt = sum(ends * (1 - level.confidence) for level in levels)
        return BoundedEstimate(min(max(estimate, low), high), low, high, 1 - doubt)

    def _descend(self, span: int, wanted: float, count: Callable[[Ranged, int], float]) -> int:
        block = 0
        for level in reversed(range(len(self.sketches.levels))):
            block *= 2
            left = float(count(self._level(level, span), block))
            if wanted > left:
                wanted -= left
                block += 1
        return block


def cover(first: int, last: int, bits: int) -> list[tuple[int, int]]:
    """The fewest blocks, as (level, block), that hold just the numbers from `first` to `last`: two a level at most."""
    found: list[tuple[int, int]] = []
    left, right = first, last + 1
    for level in range(bits):
        top = level == bits - 1
        if left < right and (left & 1 or top):
            found.append((level, left))
            left += 1
        if left < right and (right & 1 or top):
            right -= 1
            found.append((level, right))
        left, right = left >> 1, right >> 1
    return found


def candidates(sketches: Sketches, names: Sequence[str], shares: Sequence[tuple[float, int]], now: int) -> list[str]:
    """The names of items that may be above one of the (share, range) pairs at this node, sorted.

    An item above ``share * N`` over all sites is above ``share * N_i`` at some site i: else it would be at most
    ``share`` times the sum of all N_i. So the heavy hitters of all sites are among their candidates.
    """
    if not names:
        return []
    chosen = np.zeros(len(names), bool)
    for share, span in shares:
        ranged = Ranged(sketches.flat, span, now)
        chosen |= ranged.highs(names) > share * ranged.total.low * (1 - _ROUNDING)
    return sorted(np.array(names, object)[chosen].tolist())
