"""A site: sets the bits of its own pairs, and tells of each that is new in any row."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from monitoring_lib.codec import Names
from monitoring_lib.methods import Ask, Moment, SiteRole
from monitoring_lib.network import COORDINATOR, Post
from monitoring_lib.protocols.distinct_pairs.heavy_bits.letters import NewBits
from monitoring_lib.protocols.distinct_pairs.heavy_bits.state import BitsSiteState
from monitoring_lib.protocols.distinct_pairs.layout import Layout, bits_of
from monitoring_lib.protocols.distinct_pairs.pairs import Pairs


class BitsSite(SiteRole[BitsSiteState]):
    """After `observe` the coordinator has been told of every bit that a pair of this site sets."""

    State = BitsSiteState

    def __init__(self, ask: Ask, layout: Layout) -> None:
        super().__init__(ask)
        self._layout = layout

    def start(self, node: str) -> BitsSiteState:
        return BitsSiteState(node)

    def observe(self, state: BitsSiteState, moment: Moment, arriving: Pairs, expiring: Pairs) -> Iterable[Post]:
        if state.period != moment.period:
            state.period = moment.period
            state.bits.clear()
        if not len(arriving):
            return
        layout = self._layout
        bits = bits_of(arriving.items, arriving.partners, layout.bitmaps, layout.seed)
        starts = np.flatnonzero(_begins(arriving.items))
        of_item = np.cumsum(_begins(arriving.items)) - 1
        once = np.unique(of_item * layout.bits + bits)  # by item, in its order, then by bit
        of_item, bits = once // layout.bits, once % layout.bits
        items = Names(arriving.items.column.take(pa.array(starts)))
        cells = layout.cells_of(items)
        fresh = state.bits.add(cells[:, of_item] * layout.bits + bits)
        if fresh.any():
            chosen, counts = np.unique(of_item[fresh], return_counts=True)
            names = Names(items.column.take(pa.array(chosen)))
            yield Post(COORDINATOR, NewBits(names, counts.astype(np.int64), bits[fresh]), "new bits")


def _begins(sorted_items: Names) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether each item is another than the one before it."""
    codes = sorted_items.column.dictionary_encode().indices.to_numpy()
    return np.asarray(np.diff(codes, prepend=-1) != 0)
