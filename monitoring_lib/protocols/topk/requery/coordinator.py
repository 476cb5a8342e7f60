"""Requery, at the coordinator: one query in every epoch in which a site has changed."""

from __future__ import annotations

from collections.abc import Sequence

from monitoring_lib.answers import Answers
from monitoring_lib.methods import Moment
from monitoring_lib.network import Delivery
from monitoring_lib.protocols.topk.answers import both_sides, member_rows
from monitoring_lib.protocols.topk.question import tolerance_of
from monitoring_lib.protocols.topk.requery.query import EpochQuery
from monitoring_lib.protocols.topk.requery.state import RequeryCoordinatorState
from monitoring_lib.turns import TurnTaker
from monitoring_lib.unstored import Turns


class RequeryCoordinator(TurnTaker[RequeryCoordinatorState]):
    """Runs at most one query an epoch. What a site said last bounds its sums while it is missing."""

    State = RequeryCoordinatorState

    def start(self, node: str) -> RequeryCoordinatorState:
        return RequeryCoordinatorState()

    def turns(self, state: RequeryCoordinatorState, moment: Moment, inbox: Sequence[Delivery]) -> Turns:
        return EpochQuery(self.ask, state, moment).run(bool(inbox))

    def answers(self, state: RequeryCoordinatorState, moment: Moment) -> Answers:
        totals = zip(state.members, state.totals, state.lows, state.highs, strict=True)
        return member_rows(self.ask, moment, totals, unproved=state.excess != 0)

    def certificate(self, state: RequeryCoordinatorState, moment: Moment) -> str:
        return both_sides(self.ask, state.outsider_high, state.member_low, state.excess)

    def faults(self, state: RequeryCoordinatorState) -> list[str]:
        if state.excess is None or state.member_low is None:
            return []
        if state.outsider_high - state.member_low > max(tolerance_of(self.ask), state.excess):
            return [f"an outsider may reach {state.outsider_high}, a member lies at {state.member_low} or above"]
        return []
