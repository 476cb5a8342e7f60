"""`convex` and `half-space`, at a site: it tests its own array against the bounds that it was told."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from monitoring_lib.codec import Floats
from monitoring_lib.methods import Ask, Moment, SiteRole
from monitoring_lib.network import COORDINATOR, Delivery, Letter, Post
from monitoring_lib.protocols.geometric.self_join.arrays import SiteArrays
from monitoring_lib.protocols.geometric.self_join.fences import Fence, bounds, first_normal
from monitoring_lib.protocols.geometric.self_join.letters import (
    Aim,
    Balance,
    Fetch,
    Norms,
    Probe,
    Reference,
    Survey,
    TestValues,
    Welcome,
)
from monitoring_lib.protocols.geometric.self_join.state import SiteState
from monitoring_lib.tick_counts import TickCounts


def weight_of(share: str, count: int) -> float:
    """By what a site's part of the leeway is measured: alike, by its events, or by their root."""
    return {"even": 1.0, "count": 1.0 + count, "root": math.sqrt(1.0 + count)}[share]


class FencedSite(SiteRole[SiteState]):
    """Speaks where one of its tests fails, and answers."""

    State = SiteState

    def __init__(self, ask: Ask, fence: Fence) -> None:
        super().__init__(ask)
        self.fence, self.arrays = fence, SiteArrays(ask)

    def start(self, node: str) -> SiteState:
        return SiteState(node)

    def observe(self, state: SiteState, moment: Moment, arriving: TickCounts, expiring: Any) -> Iterable[Post]:
        self.arrays.take(state, moment, arriving)
        if not state.synchronised or state.node in moment.returning:
            return  # the coordinator is going to tell what to compare with
        if not state.norms.min():
            if self.arrays.now(state, moment).any():
                yield Post(COORDINATOR, TestValues(), "no longer empty")
            return
        values, reason = self._failing(state, moment)
        if reason:
            yield Post(COORDINATOR, values, reason)

    def receive(self, state: SiteState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        for delivery in inbox:
            letter = delivery.letter
            if isinstance(letter, Reference):
                self._rebase(state, moment, letter)
            elif isinstance(letter, Welcome):
                self._join(state, moment, letter)
                yield Post(COORDINATOR, *self._failing(state, moment))
            elif isinstance(letter, Balance):
                self._balance(state, moment, letter.upper, letter.lower)
            elif isinstance(letter, Aim):
                state.normal = letter.normal
                self._balance(state, moment, letter.upper, letter.lower)
            else:
                yield Post(COORDINATOR, self._answer(state, moment, letter), "asked")

    def _failing(self, state: SiteState, moment: Moment) -> tuple[TestValues, str]:
        """The values of the tests that fail, and which these are."""
        upper, lower = self._values(state, moment)
        fails = upper > 0, bool((lower < 0).any())
        reason = " and ".join(word for word, failed in zip(("above", "below"), fails, strict=True) if failed)
        return TestValues(upper if fails[0] else None, lower if fails[1] else np.empty(0)), reason

    def _answer(self, state: SiteState, moment: Moment, letter: Letter) -> Letter:
        if isinstance(letter, Fetch):
            return self.arrays.letter(state, moment)
        if isinstance(letter, Survey):
            return Norms(*self._norms(state, moment))
        assert isinstance(letter, Probe)
        upper, lower = self._values(state, moment)
        return TestValues(upper) if letter.upper else TestValues(None, lower)

    def _rebase(self, state: SiteState, moment: Moment, letter: Reference) -> None:
        self.arrays.rebase(state, moment, letter.array, joins=False)
        self._refer(state, moment, letter, first_normal(self.fence, letter.norms, self.ask.params.tolerance))
        if not letter.norms.min():
            return
        # Every site has the norms themselves as its values now, so each knows its part of the leeway.
        low, high = bounds(letter.norms, self.ask.params.tolerance)
        part = len(moment.present) / letter.weights
        self._balance(state, moment, part * (float(state.normal @ letter.norms) - high), part * (letter.norms - low))

    def _join(self, state: SiteState, moment: Moment, letter: Welcome) -> None:
        self.arrays.rebase(state, moment, letter.reference.array, joins=True)
        self._refer(state, moment, letter.reference, letter.normal)

    def _refer(self, state: SiteState, moment: Moment, reference: Reference, normal: Floats) -> None:
        """What a synchronisation told, without slack."""
        state.synchronised, state.norms, state.growth = True, reference.norms, reference.growth
        state.weight = weight_of(self.ask.options.slack, int(self.arrays.own(state, moment)[0].sum()))
        state.normal, state.upper_slack, state.lower_slack = normal, 0.0, np.zeros(len(reference.norms))

    def _balance(self, state: SiteState, moment: Moment, upper: float | None, lower: Floats) -> None:
        """Slacks with which the values are these, for each unit of the site's weight."""
        now_upper, now_lower = self._values(state, moment)
        if upper is not None:
            state.upper_slack += state.weight * upper - now_upper
        if len(lower):
            state.lower_slack = state.lower_slack + (state.weight * lower - now_lower)

    def _values(self, state: SiteState, moment: Moment) -> tuple[float, Floats]:
        """What the tests compare with 0."""
        low, high = bounds(state.norms, self.ask.params.tolerance)
        upper, lower = self._norms(state, moment)
        return float(state.normal @ upper) - high + state.upper_slack, lower - low + state.lower_slack

    def _norms(self, state: SiteState, moment: Moment) -> tuple[Floats, Floats]:
        own, total = self.arrays.own(state, moment), self.arrays.total(state, moment)
        now = self.arrays.now(state, moment) / state.growth.factor(moment.epoch)
        given = len(moment.present), state.norms, total, now - own
        return self.fence.upper(*given), self.fence.lower(*given)
