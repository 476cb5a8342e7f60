"""The counters of single items at a site."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from monitoring_lib.codec import Ints
from monitoring_lib.methods import Ask, Moment
from monitoring_lib.protocols.geometric.over_threshold.question import sizes_of
from monitoring_lib.protocols.geometric.over_threshold.state import SiteState
from monitoring_lib.protocols.geometric.sketched import StateSketches
from monitoring_lib.protocols.geometric.window import AtHand, ItemWindow, last_tick
from monitoring_lib.tick_counts import TickCounts


class ItemCounters:
    """One counter an item, or one in each row of an ECM sketch."""

    def __init__(self, ask: Ask) -> None:
        self.ask, self.sizes = ask, sizes_of(ask)
        self._windows: AtHand[ItemWindow] = AtHand()
        self._sketches = StateSketches(self.sizes)

    def take(self, state: SiteState, moment: Moment, arriving: TickCounts) -> None:
        """Counts what happened in the epoch; what is older than the window goes."""
        cutoff = last_tick(self.ask, moment) - self.sizes.span
        if self.sizes.rows is None:
            self._window(state, moment).take("", arriving, cutoff)
            return
        self._sketches.take(state, moment.epoch, arriving)
        newest = dict(zip(arriving.names, arriving.ticks.tolist(), strict=True))
        state.seen.set_all(newest.keys(), newest.values())
        state.seen.drop_all(sorted(name for name, tick in state.seen.items() if tick <= cutoff))

    def of(self, state: SiteState, moment: Moment, names: Sequence[str]) -> Ints:
        """The counters of items, a row each."""
        if self.sizes.rows is None:
            window = self._window(state, moment)
            numbers = [window.numbers.get(name, -1) for name in names]
            return np.append(window.counts, 0)[numbers].reshape(-1, 1)
        return self.cells(state, moment)[self.places(names)]

    def cells(self, state: SiteState, moment: Moment) -> Ints:
        """All counters of a sketch, row by row."""
        return self._sketches.cells(state, moment.epoch, last_tick(self.ask, moment)).reshape(-1)

    def places(self, names: Sequence[str]) -> Ints:
        """Where among the cells items have their counters, a row each."""
        rows = self.sizes.rows
        assert rows is not None
        keys = rows.keys(list(names)) if len(names) else np.empty(0, np.uint64)
        columns = [rows.columns(row, keys).astype(np.int64) + row * rows.width for row in range(rows.depth)]
        return np.stack(columns, axis=1)

    def largest(self, state: SiteState, moment: Moment, limit: float) -> list[str]:
        """The items with an exact count of `limit` or more."""
        window = self._window(state, moment)
        return [window.names[number] for number in np.flatnonzero(window.counts >= limit).tolist()]

    def _window(self, state: SiteState, moment: Moment) -> ItemWindow:
        found = self._windows.find(state, moment.epoch)
        if found is None or len(found.names) > 2 * found.held + 1024:  # mostly items that have left the window
            found = ItemWindow(state.ring)
        return self._windows.keep(state, moment.epoch, found)
