"""Exact: the baselines of both questions."""

from __future__ import annotations

from pydantic import Field

from monitoring_lib.methods import Ask, Keys, Method
from monitoring_lib.protocols.distinct_pairs.exact.letters import NewPairs
from monitoring_lib.protocols.distinct_pairs.exact.nodes import (
    HeavyHittersCoordinator,
    PairsSite,
    QuantilesCoordinator,
)
from monitoring_lib.protocols.distinct_pairs.heavy_question import DistinctHeavyHitters
from monitoring_lib.protocols.distinct_pairs.quantile_question import DistinctQuantiles


class ExactOptions(Keys):
    """It draws nothing; the seed is there so that all methods can be run under several."""

    seed: int = Field(default=0, description="of no effect")


class _Exact(Method):
    """States go on whatever is asked of them, as long as the pairs are the same."""

    name = "exact"
    Options = ExactOptions
    letters = (NewPairs,)
    needs_expiring = False

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site = PairsSite(ask)

    def most_rounds(self, sites: int) -> int:
        return 2

    def continues(self, before: Ask) -> bool:
        return before.window == self.ask.window and self.question.exact(before) == self.summary()


class ExactHeavyHitters(_Exact):
    """All pairs are kept at the coordinator: exact, with confidence 1."""

    question = DistinctHeavyHitters()

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.inner = HeavyHittersCoordinator(ask)


class ExactQuantiles(_Exact):
    """All pairs are kept at the coordinator: exact, with confidence 1."""

    question = DistinctQuantiles()

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.inner = QuantilesCoordinator(ask)
