"""`local-tests`, at a site: it tests the tracked items, and finds those that have to be tracked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from monitoring_lib.codec import Ints, Names
from monitoring_lib.methods import Ask, Moment, SiteRole
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.geometric.over_threshold.counters import ItemCounters
from monitoring_lib.protocols.geometric.over_threshold.letters import (
    Alarm,
    Collect,
    CollectedCounters,
    FullCells,
    References,
)
from monitoring_lib.protocols.geometric.over_threshold.limits import ItemLimits, outlived, weights_of
from monitoring_lib.protocols.geometric.over_threshold.state import SiteState
from monitoring_lib.tick_counts import TickCounts


class TestingSite(SiteRole[SiteState]):
    """Names the items whose tests fail, and tells the counters that it is asked for."""

    State = SiteState

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.counters, self.limits = ItemCounters(ask), ItemLimits.of(ask)
        self.depth = self.counters.sizes.depth

    def start(self, node: str) -> SiteState:
        return SiteState(node)

    def observe(self, state: SiteState, moment: Moment, arriving: TickCounts, expiring: Any) -> Iterable[Post]:
        self.counters.take(state, moment, arriving)
        if state.node in moment.returning:
            self._keep(state, np.zeros(len(state.tracked), bool))  # all are going to be synchronised anew
        released = self._release(state, moment)
        failing, cells = self._failing_tracked(state, moment), np.empty(0, np.int64)
        if self.counters.sizes.rows is None:
            failing += self._large(state, moment)
        else:
            failing += self._in_full_cells(state, {*arriving.names, *released})
            cells = self._newly_full(state, moment)
        state.sites = len(moment.present)
        if failing or len(cells):
            yield Post(COORDINATOR, Alarm(Names(sorted(failing)), cells), "beyond its bounds")

    def receive(self, state: SiteState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        asked: list[str] = []
        for delivery in inbox:
            letter = delivery.letter
            if isinstance(letter, Collect):
                asked = letter.names.tolist()
                counts = self.counters.of(state, moment, asked)
                yield Post(COORDINATOR, CollectedCounters(counts.reshape(-1)), "asked")
            elif isinstance(letter, References):
                self._track(state, moment, letter)
        for delivery in inbox:
            if isinstance(delivery.letter, FullCells):
                state.full.update(dict.fromkeys(delivery.letter.cells.tolist(), moment.epoch))
                found = self._in_full_cells(state, set(state.seen).difference(asked))
                if found:
                    yield Post(COORDINATOR, Alarm(Names(found), np.empty(0, np.int64)), "in full cells")

    def faults(self, state: SiteState) -> list[str]:
        if len(set(state.tracked)) != len(state.tracked) or ((state.shares < 0) | (state.shares > 1)).any():
            return ["an item is tracked twice, or its share is not between 0 and 1"]
        return []

    def _release(self, state: SiteState, moment: Moment) -> list[str]:
        """Lets go of full cells, and of items that were not over, after a window; of all cells if the sites change."""
        changed = len(moment.present) != state.sites or moment.returning
        state.full = {
            cell: told
            for cell, told in state.full.items()
            if not changed and not outlived(told, moment.epoch, self.ask)
        }
        if not len(state.tracked):
            return []
        over = self.limits.over(state.totals.reshape(-1, self.depth))
        gone = ~over & outlived(state.since, moment.epoch, self.ask)
        names = state.tracked.chosen(gone)
        if names:
            self._keep(state, ~gone)
        return names

    def _failing_tracked(self, state: SiteState, moment: Moment) -> list[str]:
        if not len(state.tracked):
            return []
        now = self.counters.of(state, moment, state.tracked.tolist())
        own, totals = state.own.reshape(-1, self.depth), state.totals.reshape(-1, self.depth)
        return state.tracked.chosen(self.limits.fails(now - own, totals, state.shares))

    def _large(self, state: SiteState, moment: Moment) -> list[str]:
        """Untracked items whose exact count is more than the site may keep to itself."""
        tracked = set(state.tracked)
        found = self.counters.largest(state, moment, self.limits.full(len(moment.present)))
        return [name for name in found if name not in tracked]

    def _newly_full(self, state: SiteState, moment: Moment) -> Ints:
        cells = np.flatnonzero(self.counters.cells(state, moment) >= self.limits.full(len(moment.present)))
        return np.array([cell for cell in cells.tolist() if cell not in state.full], np.int64)

    def _in_full_cells(self, state: SiteState, names: Collection[str]) -> list[str]:
        """Those of the names that occur in the window, are not tracked, and have full cells only; sorted."""
        if not state.full:
            return []
        tracked = set(state.tracked)
        asked = sorted(name for name in names if name in state.seen and name not in tracked)
        full = np.isin(self.counters.places(asked), list(state.full)).all(axis=1)
        return [asked[at] for at in np.flatnonzero(full).tolist()]

    def _track(self, state: SiteState, moment: Moment, letter: References) -> None:
        """The counters of these items as they are now become the site's own part of the reference."""
        new = set(letter.names)
        self._keep(state, np.array([name not in new for name in state.tracked], bool))
        own = self.counters.of(state, moment, letter.names.tolist())
        shares = weights_of(self.ask.options.shares, own) / letter.weights
        state.tracked = Names([*state.tracked, *letter.names])
        state.own = np.concatenate([state.own, own.reshape(-1)])
        state.totals = np.concatenate([state.totals, letter.totals])
        state.shares = np.concatenate([state.shares, shares])
        state.since = np.concatenate([state.since, np.full(len(own), moment.epoch, np.int64)])

    def _keep(self, state: SiteState, kept: Any) -> None:
        if kept.all():
            return
        state.tracked = Names(state.tracked.chosen(kept))
        state.own = state.own.reshape(-1, self.depth)[kept].reshape(-1)
        state.totals = state.totals.reshape(-1, self.depth)[kept].reshape(-1)
        state.shares, state.since = state.shares[kept], state.since[kept]
