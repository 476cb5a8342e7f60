"""The method of the recent counts: a sketch at each site, asked for the range that ends with the epoch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from monitoring_lib.answers import Answer, Answers
from monitoring_lib.codec import Image
from monitoring_lib.methods import Keys, Moment
from monitoring_lib.network import COORDINATOR, Delivery, Letter, Post
from monitoring_lib.synopses.ecm import EcmSketch
from tests.laws.toys.plain import PlainInner, PlainMethod, PlainSite
from tests.laws.toys.recent_count import ItemsOfTicks, RecentCount

DOUBT = 0.01
"""Of one site's bounds."""


@dataclass(slots=True)
class Recent(Letter, tag=1, version=1):
    """Low, estimate, high."""

    numbers: list[float]


@dataclass(slots=True)
class RecentSiteState(Image, tag=2, version=1):
    sketch: EcmSketch
    told: list[float] = field(default_factory=lambda: [0.0] * 3)


@dataclass(slots=True)
class RecentState(Image, tag=3, version=1):
    told: dict[str, list[float]] = field(default_factory=dict)


class RangeSite(PlainSite[RecentSiteState]):
    State = RecentSiteState

    def start(self, node: str) -> RecentSiteState:
        sketch = EcmSketch.for_error(0.2, 1 - DOUBT, self.ask.span or 1, seed=self.ask.options.seed)
        return RecentSiteState(sketch)

    def observe(self, state: RecentSiteState, moment: Moment, arriving: ItemsOfTicks, expiring: Any) -> Iterable[Post]:
        state.sketch.update(arriving.items, arriving.counts, ticks=arriving.ticks)
        asked = self.ask.params.watched, self.ask.params.range, (moment.epoch + 1) * self.ask.ticks - 1
        bound = state.sketch.bound(*asked)
        told = [bound.low, min(bound.high, max(bound.low, state.sketch.estimate(*asked))), bound.high]
        if told != state.told:
            state.told = told
            yield Post(COORDINATOR, Recent(told))


class RangeCoordinator(PlainInner[RecentState]):
    State = RecentState

    def receive(self, state: RecentState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        for delivery in inbox:
            assert isinstance(delivery.letter, Recent)
            state.told[delivery.sender] = delivery.letter.numbers
        return ()

    def answers(self, state: RecentState, moment: Moment) -> Answers:
        low, estimate, high = (sum(told[at] for told in state.told.values()) for at in range(3))
        confidence = 1 - DOUBT * max(1, len(moment.sites))
        row = Answer(COORDINATOR, moment.end, "", None, estimate, low, high, confidence, bool(moment.missing))
        return Answers.of([row])


class RangeOptions(Keys):
    seed: int = Field(default=0, description="of the hash")


class SketchedRanges(PlainMethod):
    """A site speaks where what its sketch says of the range has changed."""

    name, question, letters, roles = "sketched-ranges", RecentCount(), (Recent,), (RangeSite, RangeCoordinator)
    Options = RangeOptions
    needs_expiring = False


METHODS = (SketchedRanges,)
