"""What the three sliding-window counters have in common: how they are fed and asked."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from monitoring_lib.codec import Words
from monitoring_lib.synopses._items import as_weights, whole_numbers
from monitoring_lib.synopses._rows import at_least, at_most
from monitoring_lib.synopses._window import WeightedTicks, kernel_ready, without_zeros
from monitoring_lib.synopses._windowed import Windowed
from monitoring_lib.synopses.base import Bound


class WindowCounter(Windowed):
    """One counter of events over a window."""

    __slots__ = ()

    def __post_init__(self) -> None:
        self._check(1)

    def update(self, weights: Any = None, *, ticks: Any = None) -> None:
        """Counts arrivals, each by its weight: c events at one tick are c single events.

        Basis ``time``: `ticks` holds one tick an arrival (or a single one for all); without weights each counts 1.
        Basis ``count``: `weights` holds one whole number an arrival, or says by a single one how many arrivals of 1
        there are; an arrival of 0 takes a place and counts nothing.
        """
        if self.window.basis == "count":
            self._count_places(weights, ticks)
            return
        amount = np.size(ticks) if weights is None else np.size(weights)
        amounts = None if weights is None else as_weights(_row(weights), amount)
        if amounts is not None:
            _, amounts, ticks = without_zeros(amounts, ticks)
            amount = len(amounts)
        arrivals = self.window.admit(amount, amounts, ticks)
        self._take_in(np.zeros(amount, np.uint64), arrivals)

    def _count_places(self, weights: Any, ticks: Any) -> None:
        if weights is None:
            raise ValueError("weights: a window of basis 'count' needs the number that each arrival counts")
        amounts = as_weights(_row(weights), np.size(weights))
        assert amounts is not None
        places = np.maximum(amounts, 1)
        arrivals = self.window.admit(len(places), places, ticks)
        self._insert(np.empty(0, np.uint64), arrivals._replace(weights=kernel_ready(amounts)))

    def _insert(self, keys: Words, arrivals: WeightedTicks) -> None:
        columns = np.zeros(len(arrivals.ticks), np.int32)
        self.counters.insert(0, 1, columns, arrivals, self.window.length)

    def estimate(self, span: int | None = None, now: int | None = None) -> float:
        """The number of events in the last `span` ticks (the whole window if None), up to `now` (the newest tick)."""
        cutoff = self.window.cutoff(span, now)
        return float(self.counters.tally(cutoff).estimate[0]) + self._held(cutoff)

    def bound(self, span: int | None = None, now: int | None = None) -> Bound:
        """What the exact number lies between. Parts: `window` from the counter itself, `merge` from its merges."""
        cutoff = self.window.cutoff(span, now)
        tally, held = self.counters.tally(cutoff), self._held(cutoff)
        low = float(at_least(tally.low * tally.stretch_low + held)[0])
        high = float(at_most(tally.high * tally.stretch_high + held)[0])
        own = float(tally.high[0] - tally.low[0])
        parts = {"window": own, "merge": max(0.0, high - low - own)}
        return Bound(low, high, 1 - self.counters.doubt, parts)

    def _held(self, cutoff: int) -> int:
        return int(self.window.held_after(cutoff)[1].sum())

    @property
    def worst_error(self) -> float:
        """The relative error that is promised after the merges that were made."""
        return float(self.counters.worst_error)

    def mismatch(self, other: Self) -> str | None:
        reason: str | None = self.counters.mismatch(other.counters)
        return self.window.mismatch(other.window) or reason


def _row(weights: Any) -> Any:
    return np.atleast_1d(whole_numbers(weights, "weights"))
