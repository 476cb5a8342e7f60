"""The exponential histogram: how many events lie in any range that ends now, within an error that always holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from monitoring_lib.codec import Ints
from monitoring_lib.synopses._counters import Counted, Ladder, empty_log, leaf_error, slots_for
from monitoring_lib.synopses._ladder import packed, tick_of
from monitoring_lib.synopses._window import Basis, EventWindow
from monitoring_lib.synopses._window_counter import WindowCounter


@dataclass(slots=True)
class Histograms(Ladder):
    """Exponential histograms side by side, read off a ladder."""

    most_ones: int
    """Buckets of size 1 that are kept; of every other size half as many (rounded up) and one."""

    def __post_init__(self) -> None:
        Ladder.__post_init__(self)
        slots = self.rings.shape[2]
        if self.most_ones < 1 or 2 * slots < self.most_ones + 3:
            raise ValueError(f"most_ones: {self.most_ones} buckets cannot be kept in {slots} slots")

    @classmethod
    def for_error(cls, error: float, cells: int) -> Histograms:
        most_ones = math.ceil(1 / error - 1e-9)
        rings = np.zeros((2, cells, slots_for((most_ones + 3) / 2)), np.int64)
        return cls(np.zeros(cells, np.int64), np.zeros(cells, np.int64), rings, 0, most_ones)

    @property
    def error(self) -> float:
        return 1 / self.most_ones

    def tally(self, cutoff: int) -> Counted:
        estimate, least, most = (np.empty(self.cells) for _ in range(3))
        _tally(self.count, self.first, self.rings, self.most_ones, cutoff, estimate, least, most)
        return self._stretched(estimate, least, most)

    def buckets(self, cell: int = 0) -> list[tuple[int, int, int]]:
        """The buckets of one histogram that are not forgotten, newest first: size, tick of the start, of the end."""
        found = _buckets(self.count, self.first, self.rings, self.most_ones, cell)
        return [(int(size), int(start), int(end)) for size, start, end in found]

    def log(self, edge: int, origin: int) -> tuple[Ints, Ints]:
        layers, cells, slots = self.rings.shape
        buckets = min(int(self.count.max()), layers * slots)  # the end of each has a slot of its own
        logs = empty_log(cells, 2 * buckets)
        lengths = np.zeros(self.cells, np.int64)
        _log(self.count, self.first, self.rings, self.most_ones, edge, origin, logs, lengths)
        return logs, lengths

    def like(self, count: Ints, first: Ints, rings: Ints, merges: int) -> Histograms:
        return Histograms(count, first, rings, merges, self.most_ones)

    def mismatch(self, other: Histograms) -> str | None:
        if self.most_ones != other.most_ones:
            return f"error: {self.error} against {other.error}"
        return Ladder.mismatch(self, other)


@dataclass(slots=True)
class ExponentialHistogram(WindowCounter, tag=11, version=1):
    """One counter over the last `window` ticks or arrivals. For every range inside the window::

        |estimate - exact| <= error * exact                                       always
        |estimate - exact| <= ((1 + error) ** (h + 1) - 1) * exact                always, after h levels of merges

    where ``error = 1 / ceil(1 / e)`` for a histogram made for e. Buckets hold 1, 2, 4, ... events: with k = 1 / error
    at most k of size 1 and ceil(k / 2) + 1 of each other size; one more, and the two oldest of that size become one.
    The estimate is the sum of the buckets that lie inside the range, and half of the one that reaches out of it.

    Datar, Gionis, Indyk and Motwani, Maintaining Stream Statistics over Sliding Windows; Papapetrou, Garofalakis
    and Deligiannakis, Sketching Distributed Sliding-Window Data Streams, sections 3 and 5.1.
    """

    window: EventWindow
    counters: Histograms

    @classmethod
    def for_error(
        cls, error: float, window: int, *, basis: Basis = "time", lateness: int = 0, merge_levels: int = 0
    ) -> ExponentialHistogram:
        """A histogram that keeps `error` even after `merge_levels` levels of merges among its like."""
        return cls(EventWindow(window, basis, lateness), Histograms.for_error(leaf_error(error, merge_levels), 1))

    def buckets(self) -> list[tuple[int, int, int]]:
        """Newest first: size, tick of the start (the end of the older neighbour), tick of the end."""
        return self.counters.buckets()


@numba.njit(inline="always")
def _kept(formed: Any, most: Any) -> Any:
    """How many of the buckets of a size that ever formed are still of that size."""
    if formed <= most:
        return formed
    return most - 1 + ((formed - most - 1) & 1)


@numba.njit(inline="always")
def _is_forgotten(number: Any, total: Any, rings: Any) -> Any:
    """Whether a bucket's end has left the top rung: it is outside every range then. Lower rungs keep all ends."""
    top = rings.shape[0] - 2
    return (total >> top) - (number >> top) >= 2 * rings.shape[2]


@numba.njit(inline="always")
def _start_tick(number: Any, cell: Any, count: Any, first: Any, rings: Any) -> Any:
    if number <= 0 or _is_forgotten(number, count[cell], rings):
        return first[cell]
    return tick_of(number, cell, rings)


@numba.njit(cache=True)
def _tally(
    count: Any, first: Any, rings: Any, most_ones: Any, cutoff: Any, estimate: Any, least: Any, most: Any
) -> None:
    for cell in range(len(count)):
        number = formed = count[cell]
        estimate[cell] = least[cell] = most[cell] = number
        if number == 0 or first[cell] > cutoff:
            continue
        power, cap = 0, most_ones
        kept = _kept(formed, cap)
        # While this size is inside as a whole:
        while _start_tick(number - (kept << power), cell, count, first, rings) > cutoff:
            number -= kept << power
            formed = (formed - kept) >> 1
            power, cap = power + 1, (most_ones + 1) // 2 + 1
            kept = _kept(formed, cap)
        size = 1 << power
        while _start_tick(number - size, cell, count, first, rings) > cutoff:
            number -= size
        inside = count[cell] - number
        if tick_of(number, cell, rings) <= cutoff:
            estimate[cell] = least[cell] = most[cell] = inside
        elif size == 1:
            estimate[cell] = least[cell] = most[cell] = inside + 1
        else:
            estimate[cell] = inside + size // 2
            least[cell] = inside + 1
            most[cell] = inside + size if number > size else count[cell] - 1


@numba.njit(cache=True)
def _log(count: Any, first: Any, rings: Any, most_ones: Any, edge: Any, origin: Any, logs: Any, lengths: Any) -> None:
    for cell in range(len(count)):
        number = formed = count[cell]
        power, cap, used = 0, most_ones, 0
        end = tick_of(number, cell, rings) if number > 0 else edge
        while number > 0 and end > edge:
            kept = _kept(formed, cap)
            for _ in range(kept):
                number -= 1 << power
                start = _start_tick(number, cell, count, first, rings)
                logs[cell, used] = packed(end, max(0, power - 1), origin)
                used += 1
                if power > 0 and start > edge:
                    logs[cell, used] = packed(start, power - 1, origin)
                    used += 1
                end = start
                if end <= edge:
                    break
            formed = (formed - kept) >> 1
            power, cap = power + 1, (most_ones + 1) // 2 + 1
        lengths[cell] = used


@numba.njit(cache=True)
def _buckets(count: Any, first: Any, rings: Any, most_ones: Any, cell: Any) -> Any:
    found: list[tuple[Any, Any, Any]] = []
    number = formed = count[cell]
    power, cap = 0, most_ones
    while number > 0:
        kept = _kept(formed, cap)
        for _ in range(kept):
            if _is_forgotten(number, count[cell], rings):
                return found
            end = tick_of(number, cell, rings)
            number -= 1 << power
            found.append((1 << power, _start_tick(number, cell, count, first, rings), end))
        formed = (formed - kept) >> 1
        power, cap = power + 1, (most_ones + 1) // 2 + 1
    return found
