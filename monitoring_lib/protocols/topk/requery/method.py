"""Requery: the answer is asked for anew in every epoch in which a site has changed.

A baseline. The query has the three phases that Babcock and Olston, "Distributed Top-K Monitoring", section 3,
leave to "an efficient algorithm for one-time top-k queries" (Cao and Wang's TPUT): every site's k best; every
sum above the k-th partial total's share; the missing sums of what can still be among the best.
"""

from __future__ import annotations

from monitoring_lib.methods import Ask
from monitoring_lib.protocols.topk.family import TopKMethod
from monitoring_lib.protocols.topk.letters import Above, Best, FoundObjects, Tell, Told
from monitoring_lib.protocols.topk.requery.coordinator import RequeryCoordinator
from monitoring_lib.protocols.topk.requery.letters import Changed
from monitoring_lib.protocols.topk.requery.site import RequerySite


class Requery(TopKMethod):
    """Three phases of questions and replies in every epoch."""

    name = "requery"
    letters = (Changed, Tell, Told, Best, Above, FoundObjects)

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site = RequerySite(ask)
        self.inner = RequeryCoordinator(ask)

    def most_rounds(self, sites: int) -> int:
        """Three or four exchanges."""
        return 10
