"""The method of the pairs: a site tells which it sees for the first time and which have left its window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from monitoring_lib.answers import Answers
from monitoring_lib.codec import Image
from monitoring_lib.methods import Moment
from monitoring_lib.network import COORDINATOR, Delivery, Letter, Post
from monitoring_lib.tally import Tally
from tests.laws.toys.distinct_pairs import DistinctPairs, Pair, PairCounts
from tests.laws.toys.plain import PlainInner, PlainMethod, PlainSite, number


@dataclass(slots=True)
class PairNews(Letter, tag=1, version=1):
    came: list[tuple[str, str]]
    went: list[tuple[str, str]]

    @property
    def entries(self) -> int:
        return len(self.came) + len(self.went)


@dataclass(slots=True)
class PairState(Image, tag=2, version=1):
    """At a site the events of each pair; at the coordinator the sites that hold it."""

    period: int = 0
    counts: Tally = field(default_factory=Tally)

    def enter(self, period: int) -> None:
        if self.period != period:
            self.period = period
            self.counts.clear()

    def add(self, pairs: Iterable[tuple[Pair, int]]) -> None:
        for pair, change in pairs:
            if self.counts.add(pair, change) == 0:
                self.counts.drop(pair)


class PairSite(PlainSite[PairState]):
    State = PairState

    def observe(self, state: PairState, moment: Moment, arriving: PairCounts, expiring: PairCounts) -> Iterable[Post]:
        state.enter(moment.period)
        touched = sorted(arriving.counts.keys() | expiring.counts.keys())
        before = {pair for pair in touched if pair in state.counts}
        state.add(arriving.counts.items())
        state.add((pair, -count) for pair, count in expiring.counts.items())
        came = [pair for pair in touched if pair in state.counts and pair not in before]
        went = [pair for pair in touched if pair in before and pair not in state.counts]
        return [Post(COORDINATOR, PairNews(came, went))] if came or went else []


class PairCoordinator(PlainInner[PairState]):
    State = PairState

    def receive(self, state: PairState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        state.enter(moment.period)
        for news in (delivery.letter for delivery in inbox):
            assert isinstance(news, PairNews)
            state.add((pair, 1) for pair in news.came)
            state.add((pair, -1) for pair in news.went)
        return ()

    def answers(self, state: PairState, moment: Moment) -> Answers:
        return number(moment, len(state.counts), self.ask.window.length is not None and bool(moment.missing))


class TellingPairs(PlainMethod):
    """Every first sight of a pair and every last one is told."""

    name, question, letters, roles = "telling-pairs", DistinctPairs(), (PairNews,), (PairSite, PairCoordinator)


METHODS = (TellingPairs,)
