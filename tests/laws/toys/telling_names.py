"""The exact method of the different items: a site sends every item that is new to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from monitoring_lib.answers import Answers
from monitoring_lib.codec import Image
from monitoring_lib.methods import Moment
from monitoring_lib.network import COORDINATOR, Delivery, Letter, Post
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.tally import Tally
from tests.laws.toys.distinct_items import DistinctItems
from tests.laws.toys.plain import PlainInner, PlainMethod, PlainSite, number


@dataclass(slots=True)
class Names(Letter, tag=1, version=1):
    names: list[str]


@dataclass(slots=True)
class NameState(Image, tag=2, version=1):
    period: int = 0
    names: Tally = field(default_factory=Tally)

    def take(self, period: int, names: Iterable[str]) -> list[str]:
        """Those that are new."""
        if self.period != period:
            self.period = period
            self.names.clear()
        new = sorted(set(names) - self.names.keys())
        self.names.set_all(new, [1] * len(new))
        return new


class NameSite(PlainSite[NameState]):
    State = NameState

    def observe(self, state: NameState, moment: Moment, arriving: Counts, expiring: Any) -> Iterable[Post]:
        new = state.take(moment.period, arriving.names)
        return [Post(COORDINATOR, Names(new))] if new else []


class NameCoordinator(PlainInner[NameState]):
    State = NameState

    def receive(self, state: NameState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        state.take(moment.period, [n for d in inbox if isinstance(d.letter, Names) for n in d.letter.names])
        return ()

    def answers(self, state: NameState, moment: Moment) -> Answers:
        return number(moment, len(state.names))


class Exact(PlainMethod):
    """A site sends every item that is new to it."""

    name, question, letters, roles = "exact", DistinctItems(), (Names,), (NameSite, NameCoordinator)


METHODS = (Exact,)
