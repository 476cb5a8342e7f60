"""A site's arrays: as its window has them now, as they were at the last synchronisation, and as they cross."""

from __future__ import annotations

import numpy as np

from monitoring_lib.codec import Ints, Names
from monitoring_lib.methods import Ask, Moment
from monitoring_lib.protocols.geometric.self_join.letters import Array
from monitoring_lib.protocols.geometric.self_join.question import sizes_of
from monitoring_lib.protocols.geometric.self_join.state import SiteState
from monitoring_lib.protocols.geometric.sketched import StateSketches
from monitoring_lib.protocols.geometric.window import AtHand, ItemWindow, grown, last_tick
from monitoring_lib.tick_counts import TickCounts

_CELL_BYTES = 2
"""What naming a cell takes on the wire, at most, in arrays of up to 65,536 cells; counts take 1 to 4 each."""


class SiteArrays:
    """The arrays of sites, of shape (rows, columns): columns are items, numbered as the site met them, or cells."""

    def __init__(self, ask: Ask) -> None:
        self.ask, self.sizes = ask, sizes_of(ask)
        self._at_hand: AtHand[_ItemArrays] = AtHand()
        self._sketches = StateSketches(self.sizes)

    def take(self, state: SiteState, moment: Moment, arriving: TickCounts) -> None:
        """Counts what happened in the epoch; what is older than the window goes."""
        if self.sizes.rows is not None:
            self._sketches.take(state, moment.epoch, arriving)
            return
        window = self._items(state, moment.epoch).window
        window.take("", arriving, last_tick(self.ask, moment) - self.sizes.span)

    def now(self, state: SiteState, moment: Moment) -> Ints:
        if self.sizes.rows is not None:
            return self._sketches.cells(state, moment.epoch, last_tick(self.ask, moment))
        return self._items(state, moment.epoch).window.counts.reshape(1, -1)

    def own(self, state: SiteState, moment: Moment) -> Ints:
        """The site's array at the last synchronisation."""
        if self.sizes.rows is not None:
            return state.own_cells.reshape(self.sizes.depth, -1)
        return self._items(state, moment.epoch).own.reshape(1, -1)

    def total(self, state: SiteState, moment: Moment) -> Ints:
        """The sum of all sites' arrays at the last synchronisation."""
        if self.sizes.rows is not None:
            return state.total_cells.reshape(self.sizes.depth, -1)
        return self._items(state, moment.epoch).total.reshape(1, -1)

    def letter(self, state: SiteState, moment: Moment) -> Array:
        """The array as it is now."""
        if self.sizes.rows is not None:
            return array_of_cells(self.now(state, moment).reshape(-1).copy())
        window = self._items(state, moment.epoch).window
        counts = window.counts
        names = sorted(window.names[number] for number in np.flatnonzero(counts).tolist())
        return Array(Names(names), np.empty(0, np.int64), counts[window.numbered(names)])

    def rebase(self, state: SiteState, moment: Moment, total: Array | None, joins: bool) -> None:
        """What is now becomes the reference, or nothing at a site that joins; with the sum of all where it is told."""
        own = Array(Names(), np.empty(0, np.int64), np.empty(0, np.int64)) if joins else self.letter(state, moment)
        if self.sizes.rows is not None:
            state.own_cells = cells_of(own, self.sizes.rows.cells)
            if total is not None:
                state.total_cells = cells_of(total, self.sizes.rows.cells)
            return
        for tally, array in ((state.own_items, own), (state.total_items, total)):
            if array is not None:
                tally.clear()
                tally.set_all(array.names.tolist(), array.counts.tolist())
        self._at_hand.drop(state)

    def _items(self, state: SiteState, epoch: int) -> _ItemArrays:
        found = self._at_hand.find(state, epoch)
        return self._at_hand.keep(state, epoch, _ItemArrays(state) if found is None else found)


class _ItemArrays:
    """A site's window of exact counts, and its stored arrays in the same columns."""

    def __init__(self, state: SiteState) -> None:
        self.window = ItemWindow(state.ring, sorted({*state.total_items, *state.own_items}))
        self._own, self._total = (
            np.array(tally.get_all(self.window.names), np.int64) for tally in (state.own_items, state.total_items)
        )

    @property
    def own(self) -> Ints:
        self._own = grown(self._own, len(self.window.names))
        return self._own

    @property
    def total(self) -> Ints:
        self._total = grown(self._total, len(self.window.names))
        return self._total


def array_of_cells(counts: Ints) -> Array:
    """All cells, or those above 0 with their places where that is shorter."""
    filled = np.flatnonzero(counts)
    width = max(1, (int(counts.max(initial=0)).bit_length() + 8) // 8)
    sparse = len(filled) * (width + (1 if len(counts) <= 128 else _CELL_BYTES)) < len(counts) * width
    if sparse and len(filled):
        return Array(Names(), filled.astype(np.int64), counts[filled])
    return Array(Names(), np.empty(0, np.int64), counts if len(filled) else np.empty(0, np.int64))


def cells_of(array: Array, cells: int) -> Ints:
    """The counts of all cells, row by row."""
    if len(array.cells):
        found = np.zeros(cells, np.int64)
        found[array.cells] = array.counts
        return found
    return array.counts if len(array.counts) else np.zeros(cells, np.int64)
