"""A tree that grows: how many events were there over all sites?

Sites fill the groups of an even tree as they join. Each inner node adds up what comes from below and passes it on once
an epoch, at the round of its height: a branch in which nothing happened holds nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from monitoring_lib.answers import Answers, Verdicts
from monitoring_lib.codec import Image
from monitoring_lib.item_counts import ItemCounts
from monitoring_lib.methods import Ask, Moment, Truth
from monitoring_lib.network import COORDINATOR, Delivery, Letter, Post
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.topology import Roster, Topology, Tree
from tests.laws.toys.plain import PlainInner, PlainMethod, PlainQuestion, PlainSite, judge_number, number

FANOUT = 2


class EventTotal(PlainQuestion):
    """How many events there were."""

    name, default_method, baseline, shape = "event-total", "growing-tree", "growing-tree", "number"

    def exact(self, ask: Ask) -> ItemCounts:
        return ItemCounts()

    def truth(self, ask: Ask) -> Truth:
        return TotalTruth()


class TotalTruth(Truth):
    def __init__(self) -> None:
        self.totals: dict[int, int] = {}

    def observe(self, moment: Moment, node: str, arriving: Counts, expiring: Counts) -> None:
        change = sum(count for _, count in arriving) - sum(count for _, count in expiring)
        self.totals[moment.period] = self.totals.get(moment.period, 0) + change

    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        return judge_number(moment, answers, "all events", self.totals.get(moment.period, 0))


@dataclass(slots=True)
class Added(Letter, tag=1, version=1):
    change: int


@dataclass(slots=True)
class LeafState(Image, tag=2, version=1):
    node: str


@dataclass(slots=True)
class BranchState(Image, tag=3, version=1):
    """The total so far at the root; elsewhere what is still to be passed on."""

    node: str
    period: int = 0
    total: int = 0


def tree_of(moment: Moment) -> Tree:
    assert isinstance(moment.topology, Tree)
    return moment.topology


class Leaf(PlainSite[LeafState]):
    State = LeafState

    def start(self, node: str) -> LeafState:
        return LeafState(node)

    def observe(self, state: LeafState, moment: Moment, arriving: Counts, expiring: Counts) -> Iterable[Post]:
        change = int(arriving.sums.sum() - expiring.sums.sum())
        return [Post(tree_of(moment).parents[state.node], Added(change))] if change else []


class Branch(PlainInner[BranchState]):
    State = BranchState

    def start(self, node: str) -> BranchState:
        return BranchState(node)

    def receive(self, state: BranchState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        if state.period != moment.period:
            state.period, state.total = moment.period, 0
        state.total += sum(each.letter.change for each in inbox if isinstance(each.letter, Added))
        tree = tree_of(moment)
        if state.node != COORDINATOR and round_ == tree.height(state.node) and state.total:
            yield Post(tree.parents[state.node], Added(state.total), "added up")
            state.total = 0

    def answers(self, state: BranchState, moment: Moment) -> Answers:
        if state.node != COORDINATOR:
            return Answers.of()
        return number(moment, state.total, self.ask.window.length is not None and bool(moment.missing))


class GrowingTree(PlainMethod):
    """Sites tell the node above them how their number has changed."""

    name, question, letters, roles = "growing-tree", EventTotal(), (Added,), (Leaf, Branch)

    def topology(self, roster: Roster) -> Topology:
        return Tree.even(roster, FANOUT)


METHODS = (GrowingTree,)
