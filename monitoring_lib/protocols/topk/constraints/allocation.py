"""Constraints: the adjustment factors of all nodes as the coordinator has set them, and the order of its own."""

from __future__ import annotations

from collections.abc import Container, Iterable

from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.topk.adjusted import UNIT
from monitoring_lib.protocols.topk.constraints.highest import Highest
from monitoring_lib.protocols.topk.constraints.state import ConstraintsCoordinatorState


class Allocation:
    """Reads and changes the factors of a coordinator's state. All changes to `held` go through here."""

    def __init__(self, state: ConstraintsCoordinatorState) -> None:
        self.state = state
        self._above_zero: Highest | None = None

    def factor(self, node: str, name: str) -> int:
        factor: int = self.state.held.get(name) if node == COORDINATOR else self.state.factors.get((node, name))
        return factor

    def set_factor(self, node: str, name: str, factor: int) -> None:
        tally, key = (self.state.held, name) if node == COORDINATOR else (self.state.factors, (node, name))
        if factor:
            tally.set(key, factor)
        else:
            tally.drop(key)
        if node == COORDINATOR and self._above_zero is not None:
            self._above_zero.set(name, factor)

    def forget_site(self, site: str) -> None:
        """A site that has left counts 0 for every object: its factors become the coordinator's."""
        del self.state.numbers[site]
        self.state.slacks.pop(site, None)
        self.state.unheard = [node for node in self.state.unheard if node != site]
        for (node, name), factor in list(self.state.factors.items()):
            if node == site:
                self.state.factors.drop((node, name))
                self.set_factor(COORDINATOR, name, self.state.held.get(name) + factor)
        for node, name in list(self.state.told):
            if node == site:
                self.state.told.drop((node, name))

    def forget_names(self, gone: set[str]) -> None:
        """Items that only sites that have left had seen."""
        for name in gone:
            self.state.names.drop(name)
            self.set_factor(COORDINATOR, name, 0)
        for pair in [pair for pair in self.state.factors if pair[1] in gone]:
            self.state.factors.drop(pair)
        self.state.members = [name for name in self.state.members if name not in gone]

    def forget_all(self) -> None:
        """After a reset."""
        state, self._above_zero = self.state, None
        state.started, state.unproved, state.members = False, False, []
        state.numbers, state.slacks, state.unheard, state.fresh = {}, {}, [], []
        for tally in (state.held, state.factors, state.told, state.names, state.named):
            tally.clear()

    def low(self, name: str, sites: Iterable[str], fresh: Container[tuple[str, str]], signed: bool) -> int:
        """What a member's sum is at least: at every site its adjusted sum is no less than the nameless object's, 0.

        Sums that were told in this epoch (`fresh`) count as they are, unless sums can lie below 0.
        """
        if signed:
            return -(-self.factor(COORDINATOR, name) // UNIT)
        return sum(
            self.state.told.get((site, name)) if (site, name) in fresh else max(0, -(self.factor(site, name) // UNIT))
            for site in sites
        )

    def highest_held_outside(self, apart: set[str], nameless: bool) -> int | None:
        """The largest of the coordinator's factors of all objects but these; None if there are no others."""
        if nameless:  # whose factor is 0, so that only those above count
            return self.held_above_zero().outside(apart)
        return max((self.state.held.get(name) for name in self.state.names if name not in apart), default=None)

    def held_above_zero(self) -> Highest:
        """The coordinator's own factors that are above 0."""
        if self._above_zero is None:
            self._above_zero = Highest(self.state.held.items())
        return self._above_zero

    def shortfall(self, nameless: bool) -> int:
        """The least tolerance under which Invariant 2 holds: no outsider's factor exceeds a member's by more."""
        if not self.state.members:
            return 0
        highest = self.highest_held_outside(set(self.state.members), nameless)
        return 0 if highest is None else max(0, highest - min(self.state.held.get(name) for name in self.state.members))
