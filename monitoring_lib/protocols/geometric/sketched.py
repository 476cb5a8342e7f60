"""ECM sketches inside states: their counters as plain columns, so that an epoch stores only what changed in them."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from monitoring_lib.codec import Image, Ints
from monitoring_lib.protocols.geometric.sizes import Sizes
from monitoring_lib.protocols.geometric.window import AtHand
from monitoring_lib.synopses._window import EventWindow
from monitoring_lib.synopses.ecm import EcmSketch
from monitoring_lib.tick_counts import TickCounts


class HoldsSketch(Protocol):
    """A state that holds a sketch: its newest tick, the events so far, and the columns of its histograms."""

    newest: int
    arrived: int
    count: Ints
    first: Ints
    rings: Ints


class StateSketches:
    """The sketches of states."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self._at_hand: AtHand[EcmSketch] = AtHand()
        self._cells: AtHand[tuple[int, Ints]] = AtHand()

    def take(self, state: HoldsSketch, epoch: int, arriving: TickCounts) -> None:
        assert isinstance(state, Image)
        sketch = self._open(state, epoch)
        if not len(arriving):
            return
        self._cells.drop(state)
        sketch.update(arriving.names.column, arriving.counts, ticks=arriving.ticks)
        state.newest, state.arrived = sketch.window.newest, sketch.window.arrived
        counters = sketch.counters
        state.count, state.first, state.rings = counters.count, counters.first, counters.rings

    def cells(self, state: HoldsSketch, epoch: int, now: int) -> Ints:
        """The array of the window that ends with the tick `now`, row by row: whole numbers, not to be changed."""
        assert isinstance(state, Image)
        known = self._cells.find(state, epoch)
        if known is None or known[0] != now:
            known = now, self._open(state, epoch).cells(now=now).estimate.astype(np.int64)
        return self._cells.keep(state, epoch, known)[1]

    def _open(self, state: HoldsSketch, epoch: int) -> EcmSketch:
        assert isinstance(state, Image)
        sketch = self._at_hand.find(state, epoch)
        if sketch is None:
            sketch = self.sizes.sketch()
            assert sketch is not None
            if len(state.count):
                counters = sketch.counters.like(state.count, state.first, state.rings, 0)
                window = EventWindow(self.sizes.span, newest=state.newest, arrived=state.arrived)
                sketch = EcmSketch(sketch.rows, window, counters)
        return self._at_hand.keep(state, epoch, sketch)
