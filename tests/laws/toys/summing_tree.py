"""The method of the second toy: sites below regions below the root, each region adds up before it passes on.

Sites keep a bitmap of the ticks they saw, which is merged on the way up. Once the epoch has settled the root
tells the regions the total, and each region tells its sites what the region holds: upkeep on both levels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from monitoring_lib.answers import Answer, Answers
from monitoring_lib.codec import Image, Ints, Words
from monitoring_lib.hashing import hash_integers, hash_text
from monitoring_lib.methods import Ask, InnerRole, Method, Moment, NoOptions, Role, SiteRole
from monitoring_lib.network import COORDINATOR, Delivery, Letter, Post
from monitoring_lib.tally import Tally
from monitoring_lib.topology import Roster, Topology, Tree
from tests.laws.toys.running_sum import BUSY, CELLS, RunningSum, TickSums, leaving_at, none, summed

REGIONS = 3


def region_of(site: str) -> str:
    """By name alone, so that nobody moves when another joins."""
    return f"@region/{hash_text(site) % REGIONS}"


def empty_bits() -> Any:
    return np.zeros(CELLS // 64, np.uint64)


def with_ticks(bits: Any, ticks: Any) -> Any:
    marked = bits.copy()
    for cell in (hash_integers(ticks) % np.uint64(CELLS)).tolist():
        marked[cell // 64] |= np.uint64(1 << (cell % 64))
    return marked


@dataclass(slots=True)
class Increment(Letter, tag=1, version=1):
    ticks: Ints
    sums: Ints
    bits: Words

    @property
    def entries(self) -> int:
        return len(self.ticks)


@dataclass(slots=True)
class Held(Letter, tag=2, version=1):
    total: int


@dataclass(slots=True)
class LeafState(Image, tag=3, version=1):
    region: str
    period: int = 0
    told: int = 0
    bits: Words = field(default_factory=empty_bits)
    by_tick: Tally = field(default_factory=Tally)


@dataclass(slots=True)
class BranchState(Image, tag=4, version=1):
    """`ticks` and `sums` are this epoch's; `told` came from above, `said` went down last."""

    node: str
    period: int = 0
    epoch: int = -1
    total: int = 0
    told: int = 0
    said: int = 0
    bits: Words = field(default_factory=empty_bits)
    ticks: Ints = field(default_factory=none)
    sums: Ints = field(default_factory=none)


class Leaf(SiteRole[LeafState]):
    State = LeafState

    def start(self, node: str) -> LeafState:
        return LeafState(region_of(node))

    def observe(self, state: LeafState, moment: Moment, arriving: TickSums, expiring: TickSums) -> Iterable[Post]:
        if state.period != moment.period:
            state.period, state.bits = moment.period, empty_bits()
            state.by_tick.clear()
        for tick, value in zip(arriving.ticks.tolist(), arriving.sums.tolist(), strict=True):
            state.by_tick.add(str(tick), value)
        for tick in expiring.ticks.tolist():
            state.by_tick.drop(str(tick))
        state.bits = with_ticks(state.bits, arriving.ticks)
        change = arriving
        if len(expiring.ticks):
            change = arriving.merge(leaving_at(moment.start, expiring))
        if len(change.ticks):
            yield Post(state.region, Increment(change.ticks, change.sums, state.bits), "counted")

    def receive(self, state: LeafState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        for delivery in inbox:
            assert isinstance(delivery.letter, Held)
            state.told = delivery.letter.total
        return ()


class Branch(InnerRole[BranchState]):
    """What a region and the root have in common."""

    State = BranchState

    def start(self, node: str) -> BranchState:
        return BranchState(node)

    def receive(self, state: BranchState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        if state.period != moment.period:
            state.period, state.total, state.bits = moment.period, 0, empty_bits()
        parts = [delivery.letter for delivery in inbox if isinstance(delivery.letter, Increment)]
        if state.epoch != moment.epoch and (parts or len(state.ticks)):
            state.epoch, state.ticks, state.sums = moment.epoch, none(), none()
        for letter in (delivery.letter for delivery in inbox):
            if isinstance(letter, Held):
                state.told = letter.total
        for part in parts:
            state.bits = state.bits | part.bits
            state.ticks, state.sums = summed([*state.ticks, *part.ticks], [*state.sums, *part.sums])
            state.total += int(part.sums.sum())
        return self.pass_on(state) if parts else ()

    def pass_on(self, state: BranchState) -> Iterable[Post]:
        return ()

    def close(self, state: BranchState, moment: Moment) -> Iterable[Post]:
        """Missing sites are told too: they need not answer."""
        assert isinstance(moment.topology, Tree)
        if state.said != state.total:
            state.said, letter = state.total, Held(state.total)
            for child in sorted(moment.topology.children(state.node)):
                yield Post(child, letter, "upkeep")


class Region(Branch):
    def pass_on(self, state: BranchState) -> Iterable[Post]:
        yield Post(COORDINATOR, Increment(state.ticks, state.sums, state.bits), "added up")


class Root(Branch):
    def answers(self, state: BranchState, moment: Moment) -> Answers:
        ticks, sums = (state.ticks, state.sums) if state.epoch == moment.epoch else (none(), none())
        running = state.total - int(sums.sum()) + np.cumsum(sums)
        at = dict(zip(ticks.tolist(), running.tolist(), strict=True)) | {moment.end: state.total}
        gone = bool(moment.missing) and self.ask.window.length is not None
        rows = [
            Answer(COORDINATOR, tick, "", None, total, total, total, partial=gone) for tick, total in sorted(at.items())
        ]
        zeros = CELLS - sum(word.bit_count() for word in state.bits.tolist())
        estimate = CELLS * math.log(CELLS / max(1, zeros))
        busy = Answer(COORDINATOR, moment.end, BUSY, None, estimate, 0, 3 * estimate, confidence=0.9, partial=gone)
        return Answers.of([*rows, busy])


class SummingTree(Method):
    name = "summing-tree"
    question = RunningSum()
    Options = NoOptions
    letters = (Increment, Held)

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site, self.root, self.region = Leaf(ask), Root(ask), Region(ask)

    def topology(self, roster: Roster) -> Topology:
        parents = {site: region_of(site) for site in roster.sites}
        return Tree(parents | dict.fromkeys(sorted(set(parents.values())), COORDINATOR))

    def role(self, node: str) -> Role[Any]:
        return self.root if node == COORDINATOR else self.region
