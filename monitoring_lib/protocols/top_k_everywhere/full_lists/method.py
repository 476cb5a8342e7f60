"""Full lists: every site sends every other all its sums in each epoch in which one of them has changed."""

from __future__ import annotations

from monitoring_lib.methods import Ask, Method
from monitoring_lib.protocols.top_k_everywhere.full_lists.peer import AllSums, FullListsPeer
from monitoring_lib.protocols.top_k_everywhere.question import TopKEverywhere
from monitoring_lib.topology import Mesh, Roster, Topology


class FullLists(Method):
    """One round an epoch, exact, and as dear as it gets."""

    name = "full-lists"
    question = TopKEverywhere()
    letters = (AllSums,)

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site = FullListsPeer(ask)

    def topology(self, roster: Roster) -> Topology:
        return Mesh(roster.sites)

    def continues(self, before: Ask) -> bool:
        return (before.window, before.measure, before.scale) == (self.ask.window, self.ask.measure, self.ask.scale)
