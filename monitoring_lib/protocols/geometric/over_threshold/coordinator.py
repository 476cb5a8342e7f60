"""`local-tests`, at the coordinator: it synchronises the items that fail somewhere, and publishes those over."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np

from monitoring_lib.answers import Answers
from monitoring_lib.codec import Names
from monitoring_lib.methods import Ask, Moment
from monitoring_lib.network import ALL, COORDINATOR, Delivery, Post
from monitoring_lib.protocols.geometric.over_threshold.letters import (
    Alarm,
    Collect,
    CollectedCounters,
    FullCells,
    References,
)
from monitoring_lib.protocols.geometric.over_threshold.limits import ItemLimits, outlived, weights_of
from monitoring_lib.protocols.geometric.over_threshold.question import sizes_of
from monitoring_lib.protocols.geometric.over_threshold.state import CoordinatorState
from monitoring_lib.turns import TurnTaker
from monitoring_lib.unstored import Turns


class TestedCoordinator(TurnTaker[CoordinatorState]):
    """Knows of each tracked item only what its last synchronisation said; the sites' tests keep it good."""

    State = CoordinatorState

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.limits, self.sizes = ItemLimits.of(ask), sizes_of(ask)

    def start(self, node: str) -> CoordinatorState:
        return CoordinatorState()

    def turns(self, state: CoordinatorState, moment: Moment, inbox: Sequence[Delivery]) -> Turns:
        alarms = [cast(Alarm, delivery.letter) for delivery in inbox]
        return self._epoch(state, moment, alarms)

    def answers(self, state: CoordinatorState, moment: Moment) -> Answers:
        """With a sketch an item's true count can be anything up to, and beyond, what is counted for it."""
        names, params = sorted(state.over), self.ask.params
        low = params.threshold * (1 - params.slack) if self.sizes.rows is None else 0.0
        columns = {
            "node": COORDINATOR, "tick": moment.end, "key": names, "rank": None, "estimate": state.over.get_all(names),
            "low": low, "high": math.inf, "partial": bool(moment.missing),
        }  # fmt: skip
        return Answers.columns(len(names), columns)

    def certificate(self, state: CoordinatorState, moment: Moment) -> str:
        return (
            f"{len(state.members):,} sites test {len(state.tracked):,} tracked items, and those that they alone have"
            " seen, in every epoch: while the counts of an item stay within each site's share of its leeway, it cannot"
            " cross the threshold unseen. A site whose test fails says so in the same epoch."
        )

    def faults(self, state: CoordinatorState) -> list[str]:
        untracked = [name for name in state.over if name not in state.tracked]
        below = [name for name, count in state.over.items() if count < self.limits.threshold]
        return [f"{name[:80]!r} is published, but not tracked, or not over" for name in sorted({*untracked, *below})]

    def _epoch(self, state: CoordinatorState, moment: Moment, alarms: Sequence[Alarm]) -> Turns:
        changed = state.members != sorted(moment.present)
        state.members = sorted(moment.present)
        state.full = {
            cell: told
            for cell, told in state.full.items()
            if not changed and not outlived(told, moment.epoch, self.ask)
        }
        state.tracked.drop_all(
            sorted(
                name
                for name, since in state.tracked.items()
                if name not in state.over and outlived(since, moment.epoch, self.ask)
            )
        )
        names = {name for alarm in alarms for name in alarm.names}
        if not moment.present:
            state.over.clear()
            state.tracked.clear()
        else:
            cells = sorted({cell for alarm in alarms for cell in alarm.cells.tolist()})
            yield from self._exchange(state, moment, sorted(names.union(state.tracked if changed else ())), cells)
        while True:
            yield []

    def _exchange(self, state: CoordinatorState, moment: Moment, names: Sequence[str], cells: Sequence[int]) -> Turns:
        """Tells full cells, and synchronises these items and those that turn out to have full cells only."""
        state.full.update(dict.fromkeys(cells, moment.epoch))
        posts = [Post(ALL, FullCells(np.array(cells, np.int64)), "full somewhere")] if cells else []
        while posts or names:
            if names:
                posts.append(Post(ALL, Collect(Names(names)), "synchronise"))
            inbox = yield posts
            letters = [delivery.letter for delivery in inbox]
            counters = [letter for letter in letters if isinstance(letter, CollectedCounters)]
            posts = [self._synchronise(state, moment, names, counters)] if names else []
            names = sorted({name for letter in letters if isinstance(letter, Alarm) for name in letter.names})
            if not names:
                break
        if posts:
            yield posts

    def _synchronise(
        self, state: CoordinatorState, moment: Moment, names: Sequence[str], told: Sequence[CollectedCounters]
    ) -> Post:
        """Only the counters of these items cross."""
        shape = (len(names), self.sizes.depth)
        totals, weights = np.zeros(shape, np.int64), []
        for letter in told:
            counters = letter.counts.reshape(shape)
            totals += counters
            weights.append(weights_of(self.ask.options.shares, counters).tolist())
        summed = np.array([math.fsum(column) for column in zip(*weights, strict=True)])
        over = self.limits.over(totals)
        state.tracked.set_all(names, [moment.epoch] * len(names))
        state.over.drop_all([name for name, listed in zip(names, over, strict=True) if not listed])
        for name, listed, smallest in zip(names, over, totals.min(axis=1).tolist(), strict=True):
            if listed:
                state.over.set(name, smallest)
        return Post(ALL, References(Names(names), totals.reshape(-1), summed), "synchronise")
