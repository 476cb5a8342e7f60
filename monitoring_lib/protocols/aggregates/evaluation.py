"""The coordinator's intervals of every query at every tick, from the bounds that it has heard.

For weights K of any sign and bounds [l, l + w]: ``L = sum K l + sum_{K<0} K w`` and ``H = sum K l + sum_{K>0} K w``, so
``H - L = sum |K| w <= precision``. MIN and MAX take the least (largest) low and high of their objects.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from monitoring_lib.codec import Floats, Ints
from monitoring_lib.errors import DataError
from monitoring_lib.protocols.aggregates.groups import Group, GroupedObject
from monitoring_lib.protocols.aggregates.stages import Stage
from monitoring_lib.protocols.aggregates.terms import Term

_KINDS = {"sum": 0, "avg": 0, "count": 0, "min": 1, "max": 2}
_EXACT = 1 << 53
_MOST = 1 << 62


@dataclass(frozen=True)
class Membership:
    """Which queries each object stands in, with which weight, and the reverse; objects and queries by number."""

    query_starts: Ints
    queries: Ints
    weights: Ints
    counted: Ints
    """1: the object takes part in the query; 0: it is a group, whose objects do."""
    object_starts: Ints
    objects: Ints
    kinds: Ints
    reach: Ints
    """By query: the sum of its absolute weights, at least 1."""

    @classmethod
    def of(cls, terms: Sequence[Term], names: Sequence[str]) -> Membership:
        numbers = {name: number for number, name in enumerate(names)}
        groups = [name for name in names if isinstance(name, Group)]
        pairs: list[tuple[int, int, int, int]] = []
        for at, term in enumerate(terms):
            known = names if term.weights is None else [name for name in term.weights if name in numbers]
            for name in (*known, *groups):
                label = names[numbers[name]]
                counted, weight = term.has(label), 0 if term.ask == "count" else term.weight(label)
                if isinstance(label, GroupedObject) and Group.of(term.name, label.node) not in numbers:
                    # Its site is missing since the query began: nobody knows the group's value, so the row is open.
                    weight = term.weight_of_value(label) if term.ask != "count" else 0
                if counted or weight:
                    pairs.append((numbers[name], at, weight, counted))
        table = np.array(sorted(set(pairs)), np.int64).reshape(-1, 4)
        by_query = table[np.lexsort((table[:, 0], table[:, 1]))]
        extremes = by_query[by_query[:, 2] != 0]
        reach = np.zeros(len(terms), np.int64)
        np.add.at(reach, table[:, 1], np.abs(table[:, 2]))
        return cls(
            np.searchsorted(table[:, 0], np.arange(len(names) + 1)),
            table[:, 1].copy(),
            table[:, 2].copy(),
            table[:, 3].copy(),
            np.searchsorted(extremes[:, 1], np.arange(len(terms) + 1)),
            extremes[:, 0].copy(),
            np.array([_KINDS[term.ask] for term in terms], np.int64),
            np.maximum(reach, 1),
        )


@dataclass(frozen=True)
class Intervals:
    """By tick and query: how many objects take part, both ends in whole steps over the denominators, what is open."""

    takes_part: Ints
    lows: Ints
    highs: Ints
    middles: Ints
    """Twice the estimate."""
    open: NDArray[np.int8]
    """1: no low end, 2: no high end, 3: neither."""

    @classmethod
    def empty(cls, ticks: int, queries: int) -> Intervals:
        part, low, high, middle = (np.zeros((ticks, queries), np.int64) for _ in range(4))
        return cls(part, low, high, middle, np.zeros((ticks, queries), np.int8))

    def between(self, begin: int, end: int) -> Intervals:
        """Of these ticks; what is written there is written here."""
        rows = slice(begin, end)
        return Intervals(self.takes_part[rows], self.lows[rows], self.highs[rows], self.middles[rows], self.open[rows])

    def in_units(self, terms: Sequence[Term], scale: int) -> tuple[Floats, Floats, Floats]:
        """Estimates, low and high ends in units of the measure, each the nearest double.

        Rounding is monotone, so a bound stays a bound of the rounded exact value.
        """
        divisors = np.array([1 if term.ask == "count" else term.denominator * scale for term in terms], np.int64)
        means = np.array([term.ask == "avg" for term in terms], bool)
        found = np.empty(self.lows.shape), np.empty(self.lows.shape), np.empty(self.lows.shape)
        large = _in_units(
            divisors, means, self.takes_part, self.lows, self.highs, self.middles, self.open, *found, _EXACT
        )
        if large:
            for tick, query in np.argwhere(self.takes_part > 0).tolist():
                self._divide_exactly(tick, query, int(divisors[query]), bool(means[query]), found)
        return found

    def _divide_exactly(self, tick: int, query: int, divisor: int, mean: bool, found: tuple[Floats, ...]) -> None:
        """Where a number has more than 53 bits a division of doubles would round twice."""
        open_, below = int(self.open[tick, query]), divisor * (int(self.takes_part[tick, query]) if mean else 1)
        low = -math.inf if open_ & 1 else float(Fraction(int(self.lows[tick, query]), below))
        high = math.inf if open_ & 2 else float(Fraction(int(self.highs[tick, query]), below))
        middle = float(Fraction(int(self.middles[tick, query]), 2 * below))
        for column, value in zip(found, (min(max(middle, low), high), low, high), strict=True):
            column[tick, query] = value


@numba.njit(cache=True)
def _in_units(
    divisors: Any, means: Any, part: Any, lows: Any, highs: Any, middles: Any, opened: Any,
    out_estimates: Any, out_lows: Any, out_highs: Any, exact: int,
) -> bool:  # fmt: skip
    """Whether some number is too large for a division of doubles."""
    ticks, queries = lows.shape
    large = False
    for tick in range(ticks):
        for query in range(queries):
            divisor = divisors[query]
            if means[query]:
                divisor *= max(part[tick, query], 1)
            low, high, middle = lows[tick, query], highs[tick, query], middles[tick, query]
            if not (-exact < 2 * low and 2 * high < exact and 2 * divisor < exact):
                large = True
            one = -np.inf if opened[tick, query] & 1 else low / divisor
            other = np.inf if opened[tick, query] & 2 else high / divisor
            out_lows[tick, query], out_highs[tick, query] = one, other
            out_estimates[tick, query] = min(max(middle / (2 * divisor), one), other)
    return large


def evaluate(
    membership: Membership, terms: Sequence[Term], stages: Sequence[Stage], pads: Ints, every_tick: bool
) -> Intervals:
    """The intervals at every tick of the stages, or at their last one. `pads` widen every bound on both sides."""
    found = Intervals.empty(sum(stage.ticks for stage in stages) if every_tick else 1, len(terms))
    end = 0
    for stage in stages if every_tick else stages[-1:]:
        begin, end = end, end + stage.ticks
        _evaluate_stage(membership, terms, stage, pads, found.between(begin, end) if every_tick else found)
    for at, term in enumerate(terms):
        if term.ask == "count":
            found.lows[:, at] = found.highs[:, at] = found.takes_part[:, at]
            found.middles[:, at] = 2 * found.takes_part[:, at]
    return found


def _evaluate_stage(membership: Membership, terms: Sequence[Term], stage: Stage, pads: Ints, found: Intervals) -> None:
    if len(found.lows) < stage.ticks:  # the last tick alone is asked for: what is heard has all happened by then
        centres, joined = stage.after()
        none = np.empty(0, np.int64)
        stage = replace(stage, centres=centres, joined=joined, heard=(none, none, none))
    else:
        stage = stage.in_order()
    ticks, objects, sent = stage.heard
    lows, new = lows_of(stage.centres, stage.steps) - pads, lows_of(sent, stage.steps[objects]) - pads[objects]
    steps = np.where(stage.steps < 0, stage.steps, stage.steps + 2 * pads)
    _refuse_wide(membership, terms, lows, steps, new)
    m = membership
    _evaluate(
        m.query_starts, m.queries, m.weights, m.counted, m.object_starts, m.objects, m.kinds, lows, steps,
        stage.joined.copy(), stage.lost, ticks, objects, new,
        found.takes_part, found.lows, found.highs, found.middles, found.open,
    )  # fmt: skip


def lows_of(centres: Ints, steps: Ints) -> Ints:
    """The low ends of bounds with these doubled centres; of an object without a bound, its value when last heard."""
    lows: Ints = (centres - np.maximum(steps, 0)) >> 1
    return lows


def _refuse_wide(membership: Membership, terms: Sequence[Term], lows: Ints, steps: Ints, new: Ints) -> None:
    """A sum that could leave 64 bits is refused by name, never wrapped."""
    if not len(lows) or not len(terms):
        return
    ends = [int(edge) for part in (lows, new) if len(part) for edge in (part.min(), part.max())]
    largest = max(map(abs, ends)) + int(steps.max(initial=0))
    if 2 * largest * int(membership.reach.max()) >= _MOST:
        term = terms[int(membership.reach.argmax())]
        raise DataError(
            f"query {term.name!r}: its value may need more than 64 bits (values reach {largest} steps);"
            " lower the source's `scale`, or leave the object out"
        )


@numba.njit(cache=True)
def _evaluate(
    query_starts: Any, queries: Any, weights: Any, counted: Any, object_starts: Any, objects: Any, kinds: Any,
    lows: Any, steps: Any, joined: Any, lost: Any, at: Any, who: Any, new: Any,
    takes_part: Any, out_lows: Any, out_highs: Any, out_middles: Any, out_open: Any,
) -> None:  # fmt: skip
    count = len(kinds)
    sums, below, above = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.int64)
    part, free = np.zeros(count, np.int64), np.zeros(count, np.int64)
    dirty = np.ones(count, np.bool_)
    for number in range(len(lows)):
        if joined[number]:
            _join(number, query_starts, queries, weights, counted, lows, steps, lost, sums, below, above, part, free)
    row, rows = 0, len(at)
    for tick in range(len(out_lows)):
        while row < rows and at[row] == tick:
            number = who[row]
            change = new[row] - lows[number]
            lows[number] = new[row]
            if joined[number]:
                for pair in range(query_starts[number], query_starts[number + 1]):
                    sums[queries[pair]] += weights[pair] * change
                    dirty[queries[pair]] = True
            else:
                joined[number] = True
                _join(
                    number, query_starts, queries, weights, counted, lows, steps, lost, sums, below, above, part, free
                )
                for pair in range(query_starts[number], query_starts[number + 1]):
                    dirty[queries[pair]] = True
            row += 1
        for query in range(count):
            if tick > 0 and not dirty[query]:
                takes_part[tick, query] = takes_part[tick - 1, query]
                out_lows[tick, query] = out_lows[tick - 1, query]
                out_highs[tick, query] = out_highs[tick - 1, query]
                out_middles[tick, query] = out_middles[tick - 1, query]
                out_open[tick, query] = out_open[tick - 1, query]
                continue
            dirty[query] = False
            takes_part[tick, query] = part[query]
            if kinds[query] == 0:
                out_lows[tick, query] = sums[query] + below[query]
                out_highs[tick, query] = sums[query] + above[query]
                out_middles[tick, query] = 2 * sums[query] + below[query] + above[query]
                out_open[tick, query] = 3 if free[query] > 0 else 0
                continue
            sign = 1 if kinds[query] == 1 else -1  # the largest is the least of what is turned round
            first, first_bound = True, True
            near, far, middle = 0, 0, 0
            for place in range(object_starts[query], object_starts[query + 1]):
                number = objects[place]
                if not joined[number]:
                    continue
                width = max(steps[number], 0)
                low = lows[number]
                double = sign * (2 * low + width)
                middle = double if first else min(middle, double)
                first = False
                if lost[number] or steps[number] < 0:
                    continue
                one, other = (low, low + width) if sign == 1 else (-low - width, -low)
                near = one if first_bound else min(near, one)
                far = other if first_bound else min(far, other)
                first_bound = False
            open_ = 0
            if free[query] > 0:
                open_ = 3 if first_bound else (1 if sign == 1 else 2)
            out_open[tick, query] = open_
            out_lows[tick, query] = near if sign == 1 else -far
            out_highs[tick, query] = far if sign == 1 else -near
            out_middles[tick, query] = sign * middle


@numba.njit(cache=True)
def _join(
    number: int, query_starts: Any, queries: Any, weights: Any, counted: Any, lows: Any, steps: Any, lost: Any,
    sums: Any, below: Any, above: Any, part: Any, free: Any,
) -> None:  # fmt: skip
    """An object begins to count in its queries."""
    for pair in range(query_starts[number], query_starts[number + 1]):
        query, weight = queries[pair], weights[pair]
        part[query] += counted[pair]
        sums[query] += weight * lows[number]
        if lost[number] or steps[number] < 0:
            if weight != 0:
                free[query] += 1
        elif weight < 0:
            below[query] += weight * steps[number]
        else:
            above[query] += weight * steps[number]
