"""What all synopses over a window have in common: arrivals in the order of ticks, and the merge that preserves it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from monitoring_lib.codec import Words
from monitoring_lib.synopses._window import EventWindow, WeightedTicks
from monitoring_lib.synopses.base import Synopsis


class Windowed(Synopsis):
    """A synopsis of events over a window. Subclasses hold a `window`, its clock, and `counters`, its cells."""

    __slots__ = ()
    window: EventWindow
    counters: Any  # the kind of Counters that each class names for its image

    def _check(self, cells: int) -> None:
        """Refuses counters that cannot have come from the events of the window."""
        if self.counters.cells != cells:
            raise ValueError(f"counters: {self.counters.cells} cells, where {cells} are expected")
        window = self.window
        reason = self.counters.contradiction(window.newest, window.arrived - int(window.held_weights.sum()))
        if reason is not None:
            raise ValueError(f"counters: {reason}")

    @abstractmethod
    def _insert(self, keys: Words, arrivals: WeightedTicks) -> None:
        """Counts events that come in the order of their ticks."""

    def _take_in(self, keys: Words, arrivals: WeightedTicks) -> None:
        """Counts events that were admitted, or holds them back while others may still overtake them."""
        if self.window.lateness:
            ticks, keys, weights = self.window.release(arrivals.ticks, keys, arrivals.weights)
            arrivals = WeightedTicks(ticks, weights, 0)
        self._insert(keys, arrivals)

    @property
    def is_neutral(self) -> bool:
        return self.window.arrived == 0 and self.window.basis == "time"

    @classmethod
    def _merged_all(cls, parts: Sequence[Self]) -> Self:
        """The synopsis of all their events in the order of ticks: one level of merges, however many they are."""
        window = EventWindow.joined([part.window for part in parts])
        current = [part._seen_from(window.newest) for part in parts]
        window.release(
            np.concatenate([part.window.held_ticks for part in current]),
            np.concatenate([part.window.held_keys for part in current]),
            np.concatenate([part.window.held_weights for part in current]),
        )
        counters = type(parts[0].counters).joined([part.counters for part in current], window.newest - window.length)
        return replace(parts[0], window=window, counters=counters)  # type: ignore[type-var]

    def copy(self) -> Self:
        return replace(self, window=self.window.copy(), counters=self.counters.copy())  # type: ignore[type-var]

    def _seen_from(self, newest: int) -> Self:
        """This synopsis, with all counted that nothing can overtake once the clock stands at `newest`."""
        if not len(self.window.held_ticks):
            return self
        moved = self.copy()
        moved.window.newest = newest
        nothing = np.empty(0, np.int64)
        moved._take_in(np.empty(0, np.uint64), WeightedTicks(nothing, nothing, 0))
        return moved
