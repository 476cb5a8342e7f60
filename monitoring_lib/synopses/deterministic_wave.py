"""The deterministic wave: an exponential histogram's promise with an update that never cascades."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from monitoring_lib.codec import Ints
from monitoring_lib.synopses._bits import trailing_zeros
from monitoring_lib.synopses._counters import Counted, Ladder, empty_log, leaf_error, slots_for
from monitoring_lib.synopses._ladder import packed, tick_of
from monitoring_lib.synopses._window import MOST_ARRIVALS, Basis, EventWindow
from monitoring_lib.synopses._window_counter import WindowCounter


@dataclass(slots=True)
class Waves(Ladder):
    """Deterministic waves side by side: every rank on the ladder is a boundary."""

    @classmethod
    def for_error(cls, error: float, arrivals: int, cells: int) -> Waves:
        """Waves whose rungs suffice for so many arrivals in a window; a cell that gets more adds rungs."""
        if not 0 < arrivals <= MOST_ARRIVALS:
            raise ValueError(f"arrivals: {arrivals} is not between 1 and {MOST_ARRIVALS}")
        slots = slots_for((math.ceil(1 / error - 1e-9) + 1) / 2)
        rungs = 1 + max(0, math.ceil(math.log2(arrivals / (2 * slots - 2))))
        rings = np.zeros((rungs + 1, cells, slots), np.int64)
        return cls(np.zeros(cells, np.int64), np.zeros(cells, np.int64), rings, 0)

    @property
    def error(self) -> float:
        return 1 / (2 * int(self.rings.shape[2]) - 1)

    def tally(self, cutoff: int) -> Counted:
        low, high = np.empty(self.cells), np.empty(self.cells)
        _tally(self.count, self.first, self.rings, cutoff, low, high)
        return self._stretched((low + high) / 2, low, high)

    def log(self, edge: int, origin: int) -> tuple[Ints, Ints]:
        layers, cells, slots = self.rings.shape
        logs = empty_log(cells, 2 * layers * slots)
        lengths = np.zeros(cells, np.int64)
        _log(self.count, self.first, self.rings, edge, origin, logs, lengths)
        return logs, lengths

    def like(self, count: Ints, first: Ints, rings: Ints, merges: int) -> Waves:
        return Waves(count, first, rings, merges)


@dataclass(slots=True)
class DeterministicWave(WindowCounter, tag=12, version=1):
    """One counter over the last `window` ticks or arrivals. For every range inside the window::

        |estimate - exact| <= error * exact                                       always
        |estimate - exact| <= ((1 + error) ** (h + 1) - 1) * exact                always, after h levels of merges

    where ``error = 1 / (2 * slots - 1)`` is at most the error that the wave was made for. Ranks (the numbers of the
    events) divisible by higher powers of two are kept for longer; the estimate lies midway between what the
    youngest rank outside the range and the oldest rank inside it allow. The rungs are laid out beforehand for an
    upper bound of the arrivals in a window, so each update is one write; if the bound proves too low, a rung is added
    and the promise is kept all the same.

    Gibbons and Tirthapura, Distributed Streams Algorithms for Sliding Windows, section 3; Papapetrou, Garofalakis
    and Deligiannakis, Sketching Distributed Sliding-Window Data Streams, sections 4.2 and 5.1.
    """

    window: EventWindow
    counters: Waves

    @classmethod
    def for_error(
        cls,
        error: float,
        window: int,
        arrivals: int,
        *,
        basis: Basis = "time",
        lateness: int = 0,
        merge_levels: int = 0,
    ) -> DeterministicWave:
        """A wave for so many arrivals in a window at most; keeps `error` after `merge_levels` levels of merges."""
        waves = Waves.for_error(leaf_error(error, merge_levels), arrivals, 1)
        return cls(EventWindow(window, basis, lateness), waves)


@numba.njit(cache=True)
def _tally(count: Any, first: Any, rings: Any, cutoff: Any, low: Any, high: Any) -> None:
    top, slots = rings.shape[0] - 2, rings.shape[2]
    for cell in range(len(count)):
        total = count[cell]
        low[cell] = high[cell] = total
        if total == 0 or first[cell] > cutoff:
            continue
        # What has left the top rung is outside every range, and so is the first event.
        outside, inside = max(1, ((total >> top) - 2 * slots) << top), total + 1
        for rung in range(top + 1):
            place = total >> rung if rung == top else ((total >> rung) - 1) >> 1
            for _ in range(2 * slots if rung == top else slots):
                number = place << rung if rung == top else (2 * place + 1) << rung
                if number <= outside or place < 0:
                    break
                if tick_of(number, cell, rings) > cutoff:
                    inside = min(inside, number)
                else:
                    outside = max(outside, number)
                    break
                place -= 1
        low[cell] = total + 1 - inside
        high[cell] = total - outside


@numba.njit(inline="always")
def _is_kept(number: Any, total: Any, top: Any, slots: Any) -> Any:
    rung = trailing_zeros(number)
    if rung >= top:
        return (total >> top) - (number >> top) < 2 * slots
    return (((total >> rung) - 1) >> 1) - (number >> (rung + 1)) < slots


@numba.njit(cache=True)
def _log(count: Any, first: Any, rings: Any, edge: Any, origin: Any, logs: Any, lengths: Any) -> None:
    top, slots = rings.shape[0] - 2, rings.shape[2]
    for cell in range(len(count)):
        total = number = count[cell]
        power, used = 0, 0
        end = tick_of(number, cell, rings) if number > 0 else edge
        while number > 0 and end > edge:
            older = number - (1 << power)
            while power < top and older > 0 and not _is_kept(older, total, top, slots):
                power += 1
                older = number - (1 << power)
            if older <= 0:
                start = first[cell]
            elif _is_kept(older, total, top, slots):
                start = tick_of(older, cell, rings)
            else:
                start = edge  # it has left the top rung, so it is outside every range
            logs[cell, used] = packed(end, max(0, power - 1), origin)
            used += 1
            if power > 0 and start > edge:
                logs[cell, used] = packed(start, power - 1, origin)
                used += 1
            number, end = older, start
        lengths[cell] = used
