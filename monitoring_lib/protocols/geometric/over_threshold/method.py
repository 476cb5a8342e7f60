"""`local-tests`, and the baseline `every-update`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from monitoring_lib.answers import Answers
from monitoring_lib.methods import Ask, Keys, Method, Moment
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.geometric.over_threshold.coordinator import TestedCoordinator
from monitoring_lib.protocols.geometric.over_threshold.letters import (
    Alarm,
    Collect,
    CollectedCounters,
    FullCells,
    References,
)
from monitoring_lib.protocols.geometric.over_threshold.question import OverThreshold
from monitoring_lib.protocols.geometric.over_threshold.site import TestingSite
from monitoring_lib.protocols.geometric.updates import (
    CollectingCoordinator,
    CollectingState,
    TellingSite,
    Updates,
)


class LocalTestsOptions(Keys):
    """Options of `local-tests`."""

    seed: int = Field(default=0, ge=0, description="of the hash functions")
    shares: Literal["even", "count", "root"] = Field(
        default="count", description="how an item's leeway is shared: evenly, by the sites' counts, or by their root"
    )


class LocalTests(Method):
    """Every site tests every tracked item against its share of the item's leeway."""

    name = "local-tests"
    question = OverThreshold()
    Options = LocalTestsOptions
    letters = (Alarm, Collect, CollectedCounters, FullCells, References)
    needs_expiring = False

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site = TestingSite(ask)
        self.inner = TestedCoordinator(ask)


class EveryUpdate(Method):
    """Every event crosses: exact, whatever the error of the monitor."""

    name = "every-update"
    question = LocalTests.question
    letters = (Updates,)
    needs_expiring = False

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site = TellingSite(ask)
        self.inner = CountsOfUpdates(ask)


class CountsOfUpdates(CollectingCoordinator):
    """The items whose exact count has reached the threshold."""

    def answers(self, state: CollectingState, moment: Moment) -> Answers:
        names, counts = self.counted(state, moment)
        over = sorted(
            (name, count)
            for name, count in zip(names, counts.tolist(), strict=True)
            if count >= self.ask.params.threshold
        )
        sums = [count for _, count in over]
        columns = {
            "node": COORDINATOR, "tick": moment.end, "key": [name for name, _ in over], "rank": None, "estimate": sums,
            "low": sums, "high": sums, "partial": bool(moment.missing),
        }  # fmt: skip
        return Answers.columns(len(over), columns)
