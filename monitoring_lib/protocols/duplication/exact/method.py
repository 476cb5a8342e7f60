"""Exact: the baseline that tells every count in every epoch, the traffic of the paper's EDS aggregated per epoch."""

from __future__ import annotations

from pydantic import Field

from monitoring_lib.methods import Ask, Keys, Method
from monitoring_lib.protocols.duplication.exact.letters import AllCounts
from monitoring_lib.protocols.duplication.exact.nodes import AllCountsCoordinator, TellingSite
from monitoring_lib.protocols.duplication.question import Duplication


class ExactOptions(Keys):
    """It draws nothing; the seed is there so that all methods can be run under several."""

    seed: int = Field(default=0, description="of no effect")


class Exact(Method):
    """All counts are kept at the coordinator: exact, with confidence 1."""

    name = "exact"
    question = Duplication()
    Options = ExactOptions
    letters = (AllCounts,)
    needs_expiring = False

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site = TellingSite(ask)
        self.inner = AllCountsCoordinator(ask)

    def most_rounds(self, sites: int) -> int:
        return 2

    def continues(self, before: Ask) -> bool:
        return before.window == self.ask.window
