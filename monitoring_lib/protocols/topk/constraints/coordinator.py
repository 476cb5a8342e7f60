"""Constraints, at the coordinator: runs each epoch's exchange and publishes the members."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from monitoring_lib.answers import Answers
from monitoring_lib.methods import Ask, InnerRole, Moment
from monitoring_lib.network import Delivery, Post
from monitoring_lib.protocols.topk.adjusted import UNIT
from monitoring_lib.protocols.topk.answers import Total, member_rows
from monitoring_lib.protocols.topk.constraints.allocation import Allocation
from monitoring_lib.protocols.topk.constraints.conduct import Conduct
from monitoring_lib.protocols.topk.constraints.pads import item_of_key, items_of
from monitoring_lib.protocols.topk.constraints.state import ConstraintsCoordinatorState
from monitoring_lib.protocols.topk.sums import keeps_zeros
from monitoring_lib.unstored import Turns, Unstored


@dataclass(slots=True)
class UnderWay:
    """An epoch's exchange, and the factors in the order that resolutions look them up."""

    allocation: Allocation
    turns: Turns


class ConstraintsCoordinator(InnerRole[ConstraintsCoordinatorState]):
    """Invariants 1 and 2 hold after every turn; with the sites' constraints they make the members valid."""

    State = ConstraintsCoordinatorState

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self._nameless = not keeps_zeros(ask)
        self._tolerance = int(ask.params.tolerance * ask.scale * UNIT)
        self._unstored: Unstored[UnderWay] = Unstored()

    def start(self, node: str) -> ConstraintsCoordinatorState:
        return ConstraintsCoordinatorState()

    def receive(
        self, state: ConstraintsCoordinatorState, moment: Moment, round_: int, inbox: Sequence[Delivery]
    ) -> Iterable[Post]:
        under_way = self._unstored.of_epoch(state, moment.epoch)
        if under_way is not None:
            return under_way.turns.send(inbox)
        allocation = self._allocation(state, moment)
        turns = Conduct(self.ask, allocation, moment).run(inbox)
        self._unstored.put(state, moment.epoch, UnderWay(allocation, turns))
        return next(turns)

    def _allocation(self, state: ConstraintsCoordinatorState, moment: Moment) -> Allocation:
        latest = self._unstored.up_to(state, moment.epoch)
        return Allocation(state) if latest is None else latest.allocation

    def close(self, state: ConstraintsCoordinatorState, moment: Moment) -> Iterable[Post]:
        self._unstored.settle(state, moment.epoch)
        return ()

    def answers(self, state: ConstraintsCoordinatorState, moment: Moment) -> Answers:
        allocation = self._allocation(state, moment)
        rows = sorted(self._rows(allocation, moment), key=lambda row: (-self._sign * row[1], row[0]))
        unknown = [row for row in rows if self._nameless and row[1] <= 0 and row[3] is None]  # at a missing site
        rows = [row for row in rows if row[1] > 0 or not self._nameless]
        unproved = state.unproved or bool(unknown) or allocation.shortfall(self._nameless) > self._tolerance
        return member_rows(self.ask, moment, rows[: self.ask.params.k], unproved)

    def certificate(self, state: ConstraintsCoordinatorState, moment: Moment) -> str:
        tightest = min(state.slacks.values(), default=0) / UNIT / self.ask.scale
        return (
            f"At each of {len(state.slacks):,} nodes the lowest member lay above the highest outsider when the"
            f" adjustment factors, which sum to zero, were last spread: where it was tightest, by {tightest:,g}. A site"
            " sends a request as soon as that is no longer so."
        )

    @property
    def _sign(self) -> int:
        return 1 if self._nameless else -1

    def _rows(self, allocation: Allocation, moment: Moment) -> Iterator[Total]:
        """A growing member tells nobody, so that only what was told in this epoch bounds it above."""
        state, signed = allocation.state, self.ask.params.signed
        fresh = set(state.fresh)
        for name in self._published(state):
            estimate = sum(state.told.get((site, name)) for site in moment.sites)
            if all((site, name) in fresh for site in moment.sites):
                yield item_of_key(name), estimate, estimate, estimate
            elif self._nameless:
                low = allocation.low(name, moment.sites, fresh, signed)
                yield item_of_key(name), max(estimate, low), low, None
            else:
                yield item_of_key(name), estimate, None if signed else 0, None

    def _published(self, state: ConstraintsCoordinatorState) -> list[str]:
        """The members but for pads; for the smallest, filled up while a missing site keeps the set as it is."""
        names = items_of(state.members)
        if not self._nameless and len(names) < self.ask.params.k:
            members = set(names)
            names += [name for name in sorted(state.names) if name not in members]
        return names[: max(self.ask.params.k, len(state.members))]

    def faults(self, state: ConstraintsCoordinatorState) -> list[str]:
        return state.wrong_sums()
