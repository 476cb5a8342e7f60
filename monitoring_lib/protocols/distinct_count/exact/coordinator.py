"""Exact, at the coordinator: the set of all items, and their number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from monitoring_lib.answers import Answer, Answers
from monitoring_lib.methods import InnerRole, LookUp, Moment
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.distinct_count.exact.letters import NewItems
from monitoring_lib.protocols.distinct_count.exact.state import ExactCoordinatorState
from monitoring_lib.protocols.distinct_count.ranges import epochs_asked

_STALE = 2
"""Items that have left the window are dropped once the others are fewer than one in so many."""


class ExactCoordinator(InnerRole[ExactCoordinatorState]):
    """Holds every item with the epoch that it last came in."""

    State = ExactCoordinatorState

    def start(self, node: str) -> ExactCoordinatorState:
        return ExactCoordinatorState()

    def receive(
        self, state: ExactCoordinatorState, moment: Moment, round_: int, inbox: Sequence[Delivery]
    ) -> Iterable[Post]:
        if state.period != moment.period:
            state.period = moment.period
            state.items.clear()
        for delivery in inbox:
            assert isinstance(delivery.letter, NewItems)
            names = delivery.letter.names.tolist()
            state.items.set_all(names, [moment.epoch + 1] * len(names))
        if inbox and self.ask.window.length is not None:
            self._drop_old(state, moment)
        return ()

    def _drop_old(self, state: ExactCoordinatorState, moment: Moment) -> None:
        first = moment.epoch + 1 - (self.ask.window.length or 0)
        if len(state.items) > _STALE * self._since(state, first):
            state.items.drop_all([name for name, seen in state.items.items() if seen <= first])

    def _since(self, state: ExactCoordinatorState, first: int) -> int:
        """How many items came in since an epoch."""
        return int(np.count_nonzero(np.fromiter(state.items.values(), np.int64, len(state.items)) > first))

    def answers(self, state: ExactCoordinatorState, moment: Moment) -> Answers:
        length = self.ask.window.length
        return self._answer(moment, len(state.items) if length is None else self._last(state, moment, length))

    def certificate(self, state: ExactCoordinatorState, moment: Moment) -> str:
        return f"The coordinator holds every different item by name: {len(state.items):,} of them."

    def look_up(self, state: ExactCoordinatorState, moment: Moment, asked: LookUp) -> Answers:
        return self._answer(moment, self._last(state, moment, epochs_asked(self.ask, asked)))

    def _last(self, state: ExactCoordinatorState, moment: Moment, epochs: int) -> int:
        return self._since(state, moment.epoch + 1 - epochs)

    def _answer(self, moment: Moment, count: int) -> Answers:
        return Answers.of([Answer(COORDINATOR, moment.end, "", None, count, count, count)])
