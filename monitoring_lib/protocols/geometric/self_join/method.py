"""`convex` and `half-space`: sites test their own arrays; `arrays` and `every-update`: baselines."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from monitoring_lib.methods import Ask, Keys, Method
from monitoring_lib.protocols.geometric.self_join.baselines import (
    ArraysCoordinator,
    ArraysSite,
    SizeOfUpdates,
)
from monitoring_lib.protocols.geometric.self_join.coordinator import FencingCoordinator
from monitoring_lib.protocols.geometric.self_join.fences import ConvexFence, Fence, HalfSpaceFence
from monitoring_lib.protocols.geometric.self_join.letters import (
    Aim,
    Array,
    Balance,
    Fetch,
    Norms,
    Probe,
    Reference,
    Survey,
    TestValues,
    Welcome,
)
from monitoring_lib.protocols.geometric.self_join.question import SelfJoinSize
from monitoring_lib.protocols.geometric.self_join.site import FencedSite
from monitoring_lib.protocols.geometric.updates import TellingSite, Updates


class SeedOptions(Keys):
    """Options of a method that only hashes."""

    seed: int = Field(default=0, ge=0, description="of the hash functions")


class FenceOptions(SeedOptions):
    """Options of the methods whose sites test their arrays."""

    balancing: Literal["partial", "full"] = Field(
        default="partial", description="whether a few sites are asked first when one fails, or all at once"
    )
    slack: Literal["even", "count", "root"] = Field(
        default="root", description="how leeway is shared: evenly, by the sites' events, or by their root"
    )


class ConvexOptions(FenceOptions):
    """Options of `convex`."""

    growth: Literal["steady", "none"] = Field(
        default="steady", description="whether the tests expect the arrays to grow while the window fills"
    )


class SelfJoinMethod(Method):
    """What the methods of this question have in common."""

    question = SelfJoinSize()
    needs_expiring = False


class _Fenced(SelfJoinMethod):
    """States go on when the tolerance or the balancing changes: no test rests on their earlier values."""

    Options = FenceOptions
    letters = (Array, Fetch, Reference, TestValues, Probe, Balance, Survey, Norms, Aim, Welcome)
    fence: Fence

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site = FencedSite(ask, self.fence)
        self.inner = FencingCoordinator(ask, self.fence)

    def most_rounds(self, sites: int) -> int:
        return 4 * sites.bit_length() + 20

    def continues(self, before: Ask) -> bool:
        return (
            before.window == self.ask.window
            and (before.span, before.tick, before.epoch) == (self.ask.span, self.ask.tick, self.ask.epoch)
            and before.params.error == self.ask.params.error
            and before.confidence == self.ask.confidence
            and before.options.seed == self.ask.options.seed
            and before.options.slack == self.ask.options.slack
        )


class Convex(_Fenced):
    """Ours: tests in which arrivals and expiries cancel, from the sum of the arrays itself."""

    name = "convex"
    Options = ConvexOptions
    fence = ConvexFence()


class HalfSpace(_Fenced):
    """The paper's tests, from the norms of the rows."""

    name = "half-space"
    fence = HalfSpaceFence()


class Arrays(SelfJoinMethod):
    """Every site's array in every epoch."""

    name = "arrays"
    Options = SeedOptions
    letters = (Array,)

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site = ArraysSite(ask)
        self.inner = ArraysCoordinator(ask)


class EveryUpdate(SelfJoinMethod):
    """Every event crosses: exact, whatever the error of the monitor."""

    name = "every-update"
    letters = (Updates,)

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site = TellingSite(ask)
        self.inner = SizeOfUpdates(ask)
