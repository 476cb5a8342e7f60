"""The largest value seen anywhere, spread by gossip: a mesh of peers, nobody in the middle, each one answers.

A peer speaks to the two beside it on the ring of those present. It tells them what it knows when it has found
something larger, or when the ring has changed, and passes on what is news to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from monitoring_lib.answers import Answer, Answers, Verdict, Verdicts
from monitoring_lib.codec import Image
from monitoring_lib.item_counts import ItemCounts
from monitoring_lib.methods import Ask, Keys, Method, Moment, NoOptions, Question, SiteRole, Truth
from monitoring_lib.network import Delivery, Letter, Post
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.topology import Mesh, Roster, Topology


class Maximum(Question):
    """``low == exact == high`` at every present peer if none is missing, ``low <= exact`` always."""

    name = "largest-value"
    Params = Keys
    default_method = "gossip"
    baseline = "gossip"
    shape = "views"
    windows = frozenset(("growing", "reset"))

    def exact(self, ask: Ask) -> ItemCounts:
        return ItemCounts(ask.measure)

    def truth(self, ask: Ask) -> Truth:
        return MaximumTruth()

    def promise(self, ask: Ask) -> str:
        return "exact where no site is missing (always)"

    def meaning(self, ask: Ask) -> str:
        return "every site that is present knows the largest value, unless another site is missing"


class MaximumTruth(Truth):
    def __init__(self) -> None:
        self.period, self.largest = 0, 0

    def observe(self, moment: Moment, node: str, arriving: Counts, expiring: Counts) -> None:
        self._enter(moment)
        self.largest = max(self.largest, largest_of(arriving))

    def _enter(self, moment: Moment) -> None:
        if self.period != moment.period:
            self.period, self.largest = moment.period, 0

    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        self._enter(moment)
        by_node = {row.node: row for row in answers}
        verdicts = []
        for node in moment.present:
            row = by_node.get(node)
            kept = row is not None and row.low <= self.largest <= row.high
            sharp = row is not None and (row.partial or row.low == row.high)
            error = abs(row.estimate - self.largest) if row else math.inf
            verdicts.append(Verdict(node, moment.end, "", "largest value", self.largest, error, 0, kept and sharp))
        return Verdicts.of(verdicts)


def largest_of(counts: Counts) -> int:
    return max((value for _, value in counts), default=0)


@dataclass(slots=True)
class News(Letter, tag=1, version=1):
    largest: int


@dataclass(slots=True)
class PeerState(Image, tag=2, version=1):
    node: str
    period: int = 0
    largest: int = 0
    ring: list[str] = field(default_factory=list)


class Peer(SiteRole[PeerState]):
    State = PeerState

    def start(self, node: str) -> PeerState:
        return PeerState(node)

    def observe(self, state: PeerState, moment: Moment, arriving: Counts, expiring: Counts) -> Iterable[Post]:
        before = self._enter(state, moment)
        state.largest = max(state.largest, largest_of(arriving))
        ring = sorted(moment.present)
        changed, state.ring = ring != state.ring, ring
        return self._tell(state) if state.largest > before or changed else ()

    def receive(self, state: PeerState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        before = self._enter(state, moment)
        for delivery in inbox:
            assert isinstance(delivery.letter, News)
            state.largest = max(state.largest, delivery.letter.largest)
        return self._tell(state) if state.largest > before else ()

    def answers(self, state: PeerState, moment: Moment) -> Answers:
        high, partial = (math.inf, True) if moment.missing else (state.largest, False)
        row = Answer(state.node, moment.end, "", None, state.largest, state.largest, high, partial=partial)
        return Answers.of([row])

    @staticmethod
    def _enter(state: PeerState, moment: Moment) -> int:
        """What was the largest so far."""
        if state.period != moment.period:
            state.period, state.largest = moment.period, 0
        return state.largest

    @staticmethod
    def _tell(state: PeerState) -> Iterator[Post]:
        at, letter = state.ring.index(state.node), News(state.largest)
        beside = {state.ring[at - 1], state.ring[(at + 1) % len(state.ring)]} - {state.node}
        return iter([Post(tuple(beside), letter, "news")] if beside else [])


class Gossip(Method):
    name = "gossip"
    question = Maximum()
    Options = NoOptions
    letters = (News,)

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site = Peer(ask)

    def topology(self, roster: Roster) -> Topology:
        return Mesh(roster.sites)
