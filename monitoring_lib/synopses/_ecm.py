"""What the ECM sketches over each kind of counter have in common: how they are fed, asked and compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from monitoring_lib.codec import Words
from monitoring_lib.synopses._counters import Reals
from monitoring_lib.synopses._items import Column, as_items, as_weights, taken
from monitoring_lib.synopses._rows import HashRows, at_least, at_most, without_collisions
from monitoring_lib.synopses._window import WeightedTicks, sliced, without_zeros
from monitoring_lib.synopses._windowed import Windowed
from monitoring_lib.synopses.base import Bound
from monitoring_lib.synopses.hashes import as_hashes

CHUNK = 1 << 15
"""Events placed at a time: their hashes, columns and ticks stay in the cache from row to row."""


class Cells(NamedTuple):
    """What a range's cells hold, row by row: the Count-Min array of the range, and its bounds cell by cell."""

    estimate: Reals
    low: Reals
    high: Reals
    own_width: Reals
    """The part of ``high - low`` that the counters cause themselves; the rest is due to merges."""
    most_events: float
    """An upper bound of the events in the range."""


class Ecm(Windowed):
    """A Count-Min array whose cells are window counters; see `ecm.EcmSketch` for the guarantee."""

    __slots__ = ()
    rows: HashRows

    def __post_init__(self) -> None:
        self._check(self.rows.cells + self.extra_cells)

    @property
    def extra_cells(self) -> int:
        """Cells after those of the rows, the last of which counts all events."""
        return 0

    def update(self, items: Any, weights: Any = None, *, ticks: Any = None) -> None:
        """Counts events, each by its weight: an event of weight c is c single events.

        Basis ``time``: `ticks` holds one tick an event, or a single one for all. Basis ``count``: no ticks.
        """
        self._count(as_items(items), self.rows.keys, weights, ticks)

    def update_hashes(self, hashes: Any, weights: Any = None, *, ticks: Any = None) -> None:
        """As `update`, from the items' 64-bit hashes, as Spark's ``xxhash64`` makes them."""
        self._count(self.rows.keys_of_hashes(hashes), as_hashes, weights, ticks)

    def _count(self, column: Column, keys_of: Callable[[Any], Words], weights: Any, ticks: Any) -> None:
        amounts = as_weights(weights, len(column))
        if amounts is not None:
            present, amounts, ticks = without_zeros(amounts, ticks)
            column = column if present is None else taken(column, present)
        if self.window.lateness or not self.rows.hashed:
            keys = keys_of(column)
            self._take_in(keys, self.window.admit(len(column), amounts, ticks))
            return
        arrivals = self.window.admit(len(column), amounts, ticks)
        for start in range(0, len(column), CHUNK):
            part = slice(start, start + CHUNK)
            self._insert(keys_of(column[part]), sliced(arrivals, part))

    def _insert(self, keys: Words, arrivals: WeightedTicks) -> None:
        scratch = np.empty(min(CHUNK, len(keys)), np.int32)
        for start in range(0, len(keys), CHUNK):
            part = slice(start, start + CHUNK)
            ready, some, width = sliced(arrivals, part), keys[part], self.rows.width
            for row in range(self.rows.depth):
                columns = self.rows.columns(row, some, scratch)
                self.counters.insert(row * width, width, columns, ready, self.window.length)
            if self.extra_cells:
                nowhere = np.zeros(len(some), np.int32)
                self.counters.insert(self.rows.cells, 1, nowhere, ready, self.window.length)

    def cells(self, span: int | None = None, now: int | None = None) -> Cells:
        """The Count-Min array of the last `span` ticks (the whole window if None), up to `now` (the newest tick)."""
        cutoff = self.window.cutoff(span, now)
        tally = self.counters.tally(cutoff)
        low, high = tally.low * tally.stretch_low, tally.high * tally.stretch_high
        estimate, own_width = tally.estimate, tally.high - tally.low
        keys, weights = self.window.held_after(cutoff)
        for row in range(self.rows.depth if len(keys) else 0):
            places = row * self.rows.width + self.rows.columns(row, keys)
            for table in (estimate, low, high):
                np.add.at(table, places, weights)
        if self.extra_cells:
            high[-1] += weights.sum()
        low, high = at_least(low), at_most(high)
        shape = (self.rows.depth, self.rows.width)
        rows = [table[: self.rows.cells].reshape(shape) for table in (estimate, low, high, own_width)]
        most = high[-1] if self.extra_cells else rows[2].sum(axis=1).min()
        return Cells(rows[0], rows[1], rows[2], rows[3], float(most))

    def estimates(self, items: Any, span: int | None = None, now: int | None = None) -> Reals:
        """The estimate of each item: how often it occurred in the range."""
        return self._smallest(self.cells(span, now).estimate, self.rows.keys(items))

    def estimate(self, item: str | int, span: int | None = None, now: int | None = None) -> float:
        return float(self._smallest(self.cells(span, now).estimate, self.rows.key(item))[0])

    def bounds(self, items: Any, span: int | None = None, now: int | None = None) -> tuple[Reals, Reals]:
        """The lower and upper bound of each item, with probability `confidence` each."""
        cells, keys = self.cells(span, now), self.rows.keys(items)
        low = without_collisions(self._smallest(cells.low, keys), self.rows.error, cells.most_events)
        return low, self._smallest(cells.high, keys)

    def bound(self, item: str | int, span: int | None = None, now: int | None = None) -> Bound:
        """What the exact number lies between. Parts: `sketch` from collisions, `window` from the counters, `merge`."""
        cells, keys = self.cells(span, now), self.rows.key(item)
        shared = float(self._smallest(cells.low, keys)[0])
        high = float(self._smallest(cells.high, keys)[0])
        low = float(without_collisions(np.array([shared]), self.rows.error, cells.most_events)[0])
        own = min(high - shared, float(self._smallest(cells.own_width, keys)[0]))
        parts = {"sketch": shared - low, "window": own, "merge": high - shared - own}
        return Bound(low, high, self.confidence, parts)

    def arrivals(self, span: int | None = None, now: int | None = None) -> Bound:
        """How many events the range holds, whatever their items."""
        cells = self.cells(span, now)
        low, high = float(cells.low.sum(axis=1).max()), cells.most_events
        own = min(high - low, float(cells.own_width.sum(axis=1).min()))
        return Bound(low, high, 1 - self.counters.doubt, {"window": own, "merge": high - low - own})

    def inner_product(self, other: Self, span: int | None = None, now: int | None = None) -> float:
        """The estimate of the sum, over all items, of the product of its counts here and there in the range."""
        mine, theirs = self._both(other, span, now)
        return float((mine.estimate * theirs.estimate).sum(axis=1).min())

    def bound_inner_product(self, other: Self, span: int | None = None, now: int | None = None) -> Bound:
        """What the exact product lies between. Parts: `sketch` from collisions, `window` from counters and merges."""
        mine, theirs = self._both(other, span, now)
        high = float((mine.high * theirs.high).sum(axis=1).min())
        shared = float((mine.low * theirs.low).sum(axis=1).min())
        most = mine.most_events * theirs.most_events
        low = float(without_collisions(np.array([shared]), self.rows.error, most)[0])
        return Bound(low, high, self.confidence, {"sketch": shared - low, "window": high - shared})

    def self_join(self, span: int | None = None, now: int | None = None) -> float:
        """The estimate of the sum of the squared counts in the range."""
        return self.inner_product(self, span, now)

    def bound_self_join(self, span: int | None = None, now: int | None = None) -> Bound:
        return self.bound_inner_product(self, span, now)

    @property
    def confidence(self) -> float:
        """The probability with which the bound of one answer holds, over the seeds."""
        return self.rows.confidence

    @property
    def point_error(self) -> float:
        """``|estimate - exact| <= point_error * N`` for point queries, N being all events of the range."""
        counters = self.counters.worst_error
        return float(max(counters, (1 + counters) * self.rows.error))

    @property
    def inner_product_error(self) -> float:
        """``|estimate - exact| <= inner_product_error * N * M`` for inner products, both sketches merged alike."""
        counters = (1 + self.counters.worst_error) ** 2 - 1
        return float(max(counters, (1 + counters) * self.rows.error))

    def mismatch(self, other: Self) -> str | None:
        reason: str | None = self.counters.mismatch(other.counters)
        return self.rows.mismatch(other.rows) or self.window.mismatch(other.window) or reason

    def _both(self, other: Self, span: int | None, now: int | None) -> tuple[Cells, Cells]:
        reason = self.rows.mismatch(other.rows) or self.window.mismatch(other.window)
        if reason is not None:
            raise ValueError(f"other: sketches of unlike making have no inner product: {reason}")
        if now is None and self.window.basis == "time":
            now = max(self.window.newest, other.window.newest)
        return self.cells(span, now), other.cells(span, now)

    def _smallest(self, table: Reals, keys: Words) -> Reals:
        found: Reals = table[0, self.rows.columns(0, keys)]
        for row in range(1, self.rows.depth):
            np.minimum(found, table[row, self.rows.columns(row, keys)], out=found)
        return found
