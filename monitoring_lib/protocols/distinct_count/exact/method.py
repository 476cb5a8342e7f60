"""Exact counting (EC of the paper)."""

from __future__ import annotations

from monitoring_lib.methods import Ask, Method
from monitoring_lib.protocols.distinct_count.exact.coordinator import ExactCoordinator
from monitoring_lib.protocols.distinct_count.exact.letters import NewItems
from monitoring_lib.protocols.distinct_count.exact.site import ExactSite
from monitoring_lib.protocols.distinct_count.question import DistinctCount


class Exact(Method):
    """Every item crosses once from every site that sees it."""

    name = "exact"
    question = DistinctCount()
    letters = (NewItems,)
    needs_expiring = False

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site = ExactSite(ask)
        self.inner = ExactCoordinator(ask)

    def continues(self, before: Ask) -> bool:
        return before.window == self.ask.window
