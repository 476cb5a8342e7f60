"""`convex` and `half-space`, at the coordinator: it balances what a site has too much of, or synchronises anew."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Mapping, Sequence
from copy import deepcopy
from random import Random
from typing import cast

import numpy as np

from monitoring_lib.answers import Answers
from monitoring_lib.codec import Floats, Ints, Names
from monitoring_lib.methods import Ask, Moment
from monitoring_lib.network import ALL, Delivery, Post
from monitoring_lib.protocols.geometric.self_join.answers import size_row
from monitoring_lib.protocols.geometric.self_join.arrays import array_of_cells, cells_of
from monitoring_lib.protocols.geometric.self_join.fences import STRICT, Fence, bounds, first_normal
from monitoring_lib.protocols.geometric.self_join.growth import Growth
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
from monitoring_lib.protocols.geometric.self_join.question import sizes_of
from monitoring_lib.protocols.geometric.self_join.site import weight_of
from monitoring_lib.protocols.geometric.self_join.state import CoordinatorState
from monitoring_lib.protocols.geometric.sizes import Sizes
from monitoring_lib.protocols.geometric.window import squares
from monitoring_lib.turns import TurnTaker
from monitoring_lib.unstored import Turns

TestRounds = Generator[list[Post], Sequence[Delivery], bool]
"""Rounds of messages; whether all tests pass at their end."""


class FencingCoordinator(TurnTaker[CoordinatorState]):
    """Publishes the self-join size of the last synchronisation, which the sites' tests keep good."""

    State = CoordinatorState

    def __init__(self, ask: Ask, fence: Fence) -> None:
        super().__init__(ask)
        self.fence, self.sizes = fence, sizes_of(ask)

    def start(self, node: str) -> CoordinatorState:
        return CoordinatorState()

    def turns(self, state: CoordinatorState, moment: Moment, inbox: Sequence[Delivery]) -> Turns:
        alarms = {delivery.sender: cast(TestValues, delivery.letter) for delivery in inbox}
        return self._epoch(state, moment, alarms)

    def answers(self, state: CoordinatorState, moment: Moment) -> Answers:
        grown = 1.0 if state.reference is None else state.reference.growth.factor(moment.epoch)
        return size_row(self.ask, self.sizes, moment, state.size * grown**2, self.ask.params.tolerance)

    def certificate(self, state: CoordinatorState, moment: Moment) -> str:
        when = moment.ago(moment.epoch if state.reference is None else state.reference.growth.since)
        return (
            f"The arrays of {len(state.counts):,} sites were last synchronised {when}. Since then every site"
            " tests that its own array stays inside a convex region: while all do, so does their mean, and the"
            " self-join size stays within the tolerance of the published one."
        )

    def faults(self, state: CoordinatorState) -> list[str]:
        if state.size < 0 or not math.isfinite(state.size) or (state.size == 0) != (state.events == 0):
            return [f"a self-join size of {state.size} from {state.events} events"]
        return []

    def _epoch(self, state: CoordinatorState, moment: Moment, alarms: Mapping[str, TestValues]) -> Turns:
        """A site that has gone, or something where there was nothing, takes a synchronisation at once.

        So does the end of the filling: what the sites compare with from then on is a full window.
        """
        gone, new = set(state.counts).difference(moment.present), sorted(set(moment.present).difference(state.counts))
        safe = False
        filled = state.reference is not None and state.reference.growth.ends(moment.epoch)
        if state.reference is not None and not (gone or filled) and (state.size > 0 or not (new or alarms)):
            if new:
                alarms = {**alarms, **(yield from self._welcome(state, new))}
            safe = not alarms
            if alarms and self.ask.options.balancing == "partial":
                safe = yield from self._balance_some(state, moment, alarms)
            if not safe:
                safe = yield from self._balance_all(state, moment)
        if not safe:
            yield from _Synchronisation(self.ask, self.fence, self.sizes, state, moment).run()
        while True:
            yield []

    def _welcome(
        self, state: CoordinatorState, new: Sequence[str]
    ) -> Generator[list[Post], Sequence[Delivery], dict[str, TestValues]]:
        """Sites that join are told what the others compare with; the values of those whose tests fail."""
        assert state.reference is not None
        state.counts.set_all(new, [0] * len(new))
        inbox = yield [Post(tuple(new), Welcome(deepcopy(state.reference), state.normal.copy()), "joins")]
        told = {delivery.sender: cast(TestValues, delivery.letter) for delivery in inbox}
        return {node: values for node, values in told.items() if values.upper is not None or len(values.lower)}

    def _weights(self, state: CoordinatorState, nodes: Iterable[str]) -> float:
        return math.fsum(weight_of(self.ask.options.slack, state.counts.get(node)) for node in nodes)

    def _balance_some(self, state: CoordinatorState, moment: Moment, alarms: Mapping[str, TestValues]) -> TestRounds:
        above = {node: np.array([-letter.upper]) for node, letter in alarms.items() if letter.upper is not None}
        below = {node: letter.lower for node, letter in alarms.items() if len(letter.lower)}
        posts = []
        for upper, values in ((True, above), (False, below)):
            if values:
                balanced = yield from self._balance_among(state, moment, upper, values)
                if balanced is None:
                    return False
                posts.append(balanced)
        yield posts  # together: nobody answers, so this coordinator might not be called again in this epoch
        return True

    def _balance_among(
        self, state: CoordinatorState, moment: Moment, upper: bool, values: dict[str, Floats]
    ) -> Generator[list[Post], Sequence[Delivery], Post | None]:
        """Asks more and more sites, up to half of them, until the mean of those asked passes. Values pass from 0 up.

        The normal stays as it is: another one for some of the sites would be unsound.
        """
        others = [node for node in sorted(moment.present) if node not in values]
        Random(f"{self.ask.options.seed}/{moment.epoch}/{upper}").shuffle(others)
        most = max(len(values), len(moment.present) // 2)
        while True:
            sums = _sums(list(values.values()))
            if (sums >= 0).all():
                each = sums / self._weights(state, values)
                letter = Balance(-float(each[0])) if upper else Balance(None, each)
                return Post(tuple(sorted(values)), letter, "balance")
            more = others[: min(len(values), most - len(values))]
            if not more:
                return None
            del others[: len(more)]
            inbox = yield [Post(tuple(sorted(more)), Probe(upper), "balance")]
            for delivery in inbox:
                found = cast(TestValues, delivery.letter)
                values[delivery.sender] = found.lower if found.upper is None else np.array([-found.upper])

    def _balance_all(self, state: CoordinatorState, moment: Moment) -> TestRounds:
        """Asks every site for all its values; if their means pass, all get a normal of these and even values."""
        inbox = yield [Post(ALL, Survey(), "balance all")]
        found = [cast(Norms, delivery.letter) for delivery in inbox]
        sites = len(found)
        upper, lower = _sums([norms.upper for norms in found]) / sites, _sums([norms.lower for norms in found]) / sites
        smallest = np.array([math.sqrt(state.size)])
        low, high = bounds(smallest, self.ask.params.tolerance)
        if not (upper.min() < high * (1 - STRICT) and lower.min() >= low * (1 + STRICT)):
            return False
        state.normal, part = self.fence.normal(upper, high), sites / self._weights(state, state.counts)
        aim = Aim(state.normal.copy(), part * (float(state.normal @ upper) - high), part * (lower - low))
        yield [Post(ALL, aim, "balance all")]
        return True


class _Synchronisation:
    """Collects the arrays of all present sites and tells their sum, or its norms."""

    def __init__(self, ask: Ask, fence: Fence, sizes: Sizes, state: CoordinatorState, moment: Moment) -> None:
        self.ask, self.fence, self.sizes, self.state, self.moment = ask, fence, sizes, state, moment

    def run(self) -> Generator[list[Post], Sequence[Delivery], None]:
        inbox = (yield [Post(ALL, Fetch(), "synchronise")]) if self.moment.present else ()
        arrays = {delivery.sender: cast(Array, delivery.letter) for delivery in inbox}
        total, joined = self._joined(arrays) if self.sizes.rows is None else self._added(arrays)
        state, norms = self.state, np.sqrt(np.array(joined, float))
        if not state.size:
            state.first = self.moment.epoch
        state.size, state.events = float(min(joined)), sum(state.counts.values())
        weights = math.fsum(weight_of(self.ask.options.slack, count) for _, count in sorted(state.counts.items()))
        state.normal = first_normal(self.fence, norms, self.ask.params.tolerance)
        state.reference = Reference(total if self.fence.needs_total else None, norms, weights, self._growth())
        yield [Post(ALL, deepcopy(state.reference), "synchronise")]  # a letter is its own

    def _growth(self) -> Growth:
        """While the window fills, as much again is expected in every epoch as in the mean of those before."""
        epoch, first = self.moment.epoch, self.state.first
        full = first + (self.ask.window.length or 0) - 1
        if epoch < full and getattr(self.ask.options, "growth", "none") == "steady":
            return Growth(epoch, 1 / (epoch - first + 1), full)
        return Growth(epoch, 0.0, epoch)

    def _joined(self, arrays: Mapping[str, Array]) -> tuple[Array, list[int]]:
        """The sum of exact counts, and the sum of its squares."""
        sums: dict[str, int] = {}
        self.state.counts.clear()
        for node, array in arrays.items():
            self.state.counts.set(node, int(array.counts.sum()))
            for name, count in zip(array.names, array.counts.tolist(), strict=True):
                sums[name] = sums.get(name, 0) + count
        names = sorted(sums)
        counts = np.array([sums[name] for name in names], np.int64)
        return Array(Names(names), np.empty(0, np.int64), counts), [squares(counts)]

    def _added(self, arrays: Mapping[str, Array]) -> tuple[Array, list[int]]:
        """The sum of sketches' arrays, and the sum of squares of each row."""
        assert self.sizes.rows is not None
        shape, cells = (self.sizes.rows.depth, self.sizes.rows.width), self.sizes.rows.cells
        total: Ints = np.zeros(cells, np.int64)
        self.state.counts.clear()
        for node, array in arrays.items():
            found = cells_of(array, cells)
            self.state.counts.set(node, int(found[: shape[1]].sum()))
            total += found
        return array_of_cells(total), [squares(row) for row in total.reshape(shape)]


def _sums(rows: Sequence[Floats]) -> Floats:
    """Column by column, rounded once, so that the order of the sites does not matter."""
    return np.array([math.fsum(column) for column in zip(*(row.tolist() for row in rows), strict=True)])
