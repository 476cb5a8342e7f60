"""The exact values of all queries at every tick, by forward filling each object's readings, and the judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.answers import Answers, Verdicts
from monitoring_lib.methods import Ask, Moment, Truth
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.aggregates.latency import Latency

_EXACT = 1 << 53
_INT64 = 1 << 62


class AggregatesTruth(Truth):
    """Every object's value at every tick of the epoch, in whole numbers."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self._last: dict[str, dict[str, int]] = {}
        """By site: the value that each of its objects holds when the epoch begins."""
        self._roster: frozenset[str] = frozenset()
        self._series: dict[str, dict[str, tuple[int, NDArray[np.int64]]]] = {}
        self._epoch = -1
        self._delayed = Latency.of(ask).delayed
        self._before: dict[str, tuple[int, NDArray[np.int64]]] = {}
        """Where rows lie behind: the objects of the epoch before."""

    def observe(self, moment: Moment, node: str, arriving: Any, expiring: Any) -> None:
        self._enter(moment)
        held, ticks = self._last.setdefault(node, {}), self.ask.ticks
        first = moment.epoch * ticks
        ends = np.cumsum(arriving.rows)
        for name, end, rows in zip(arriving.names, ends.tolist(), arriving.rows.tolist(), strict=True):
            at = arriving.ticks[end - rows : end] - first
            values = arriving.values[end - rows : end]
            self._series.setdefault(node, {})[name] = self._filled(at, values, held.get(name))
        for name, (_, series) in self._series.get(node, {}).items():
            held[name] = int(series[-1])

    def _filled(self, at: Any, values: Any, held: int | None) -> tuple[int, NDArray[np.int64]]:
        """The tick from which the object takes part, and its value at each tick."""
        series = np.zeros(self.ask.ticks, np.int64)
        begin = int(at[0]) if held is None else 0
        if self._zeros:
            series[at] = values
        else:
            starts, kept = np.concatenate(([0], at)), np.concatenate(([held or 0], values))
            series[:] = np.repeat(kept, np.diff(np.append(starts, self.ask.ticks)))
        return begin, series

    @property
    def _zeros(self) -> bool:
        return self.ask.measure.reduction in ("sum", "count")

    def _enter(self, moment: Moment) -> None:
        if moment.epoch == self._epoch:
            return
        self._before = self._objects() if self._delayed and moment.epoch == self._epoch + 1 else {}
        self._epoch = moment.epoch
        for node in self._last.keys() - self._roster - set(moment.sites):
            del self._last[node]  # it left in an earlier epoch
        self._roster = frozenset(moment.sites)
        self._series = {}

    def _objects(self) -> dict[str, tuple[int, NDArray[np.int64]]]:
        """Of all sites; what held still has its last value throughout."""
        found: dict[str, tuple[int, NDArray[np.int64]]] = {}
        for node, held in self._last.items():
            moved = self._series.get(node, {})
            for name, value in held.items():
                still = np.full(self.ask.ticks, 0 if self._zeros else value, np.int64)
                found[name] = moved.get(name) or (0, still)
        return found

    def _shifted(self, objects: dict[str, tuple[int, NDArray[np.int64]]]) -> dict[str, tuple[int, NDArray[np.int64]]]:
        """The ticks for which rows are published, where they lie behind those of the epoch."""
        if not self._delayed:
            return objects
        kept, shifted = self.ask.ticks - self._delayed, {}
        for name, (begin, series) in objects.items():
            if name in self._before:
                earlier, head = self._before[name]
                shifted[name] = max(earlier - kept, 0), np.append(head[kept:], series[:kept])
            else:
                shifted[name] = begin + self._delayed, np.append(np.zeros(self._delayed, np.int64), series[:kept])
        return shifted

    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        self._enter(moment)
        objects = self._shifted(self._objects())
        ticks = range(self.ask.ticks) if self.ask.params.publish == "tick" else [self.ask.ticks - 1]
        keys = zip(answers.column("tick"), answers.column("key"), strict=True)
        rows = {key: at for at, key in enumerate(keys)}
        left = not set(self._last) <= set(moment.sites)
        excused = bool(moment.missing) or left or self._delayed > 0  # rows that lie behind may miss a site of then
        found = _Found(moment, answers, len(rows) < len(answers), excused)
        for query in self.ask.params.queries:
            exact, counts = self._exact(query, objects, ticks)
            for slot, tick in enumerate(ticks):
                end = moment.start + (tick + 1 - self._delayed) * self.ask.tick
                row = rows.pop((end, query.name), None)
                if counts[slot]:
                    found.add(query, end, row, exact[slot])
                elif row is not None:
                    found.surplus += 1
        found.surplus += len(rows)
        return found.verdicts()

    def _exact(self, query: Any, objects: Any, ticks: Sequence[int]) -> tuple[list[Any], list[int]]:
        """The exact value at each tick as a fraction or whole number of units, and how many objects take part."""
        weights = query.weights if query.weights is not None else None
        named = query.objects if weights is None else tuple(weights)
        chosen = None if named is None else set(named)
        members = [name for name in objects if chosen is None or name in chosen]
        if not members:
            return [0] * len(ticks), [0] * len(ticks)
        at = np.array(ticks)
        values = np.array([objects[name][1][at] for name in members])
        taking = np.array([at >= objects[name][0] for name in members])
        counts = taking.sum(axis=0).tolist()
        if query.ask == "count":
            return counts, counts
        if query.ask in ("min", "max"):
            blank = _INT64 if query.ask == "min" else -_INT64
            ends = np.where(taking, values, blank)
            best = ends.min(axis=0) if query.ask == "min" else ends.max(axis=0)
            return [Fraction(int(value), self.ask.scale) for value in best], counts
        factors = [Fraction(weights[name]) if weights is not None else Fraction(1) for name in members]
        common = math.lcm(*(factor.denominator for factor in factors))
        whole = [int(factor * common) for factor in factors]
        sums = _weighted(np.where(taking, values, 0), whole)
        if query.ask == "avg":
            return [Fraction(value, self.ask.scale * max(n, 1)) for value, n in zip(sums, counts, strict=True)], counts
        return [Fraction(value, self.ask.scale * common) for value in sums], counts


def _weighted(values: NDArray[np.int64], weights: list[int]) -> list[int]:
    """Exact sums by column: in doubles where all of them are whole, else in Python's numbers."""
    largest = max(int(values.max(initial=0)), -int(values.min(initial=0))) * sum(map(abs, weights))
    if largest < _EXACT:
        return [int(value) for value in np.array(weights, float) @ values.astype(float)]
    return [int(value) for value in np.array(weights, object) @ values.astype(object)]


def _rounding(low: float, high: float) -> Fraction:
    """By how much the distance of two doubles may exceed that of the numbers that they are nearest to."""
    return (Fraction(math.ulp(low)) + Fraction(math.ulp(high))) / 2


class _Found:
    """Verdicts in columns."""

    def __init__(self, moment: Moment, answers: Answers, twice: bool, excused: bool) -> None:
        self.excused = excused
        self.moment = moment
        self.lows, self.highs = answers.column("low"), answers.column("high")
        self.estimates, self.partial = answers.column("estimate"), answers.column("partial")
        self.surplus, self.missing = int(twice), 0
        self.columns: dict[str, list[Any]] = {
            name: [] for name in ("tick", "key", "promise", "exact", "error", "allowed", "kept")
        }

    def add(self, query: Any, tick: int, row: int | None, exact: Any) -> None:
        if row is None:
            self.missing += 1
            return
        value, low, high = float(exact), self.lows[row], self.highs[row]
        # The ends are the nearest doubles to exact numbers, and so is `value`: rounding keeps their order.
        self._put(tick, query.name, "exact value within bounds", value, abs(self.estimates[row] - value),
                  max(high - self.estimates[row], self.estimates[row] - low), low <= value <= high)  # fmt: skip
        precision = query.precision if query.ask != "count" else 0
        if precision is None or (self.partial[row] and self.excused):
            return
        within = math.isfinite(high - low) and (
            high - low <= precision or Fraction(high) - Fraction(low) <= Fraction(precision) + _rounding(low, high)
        )
        self._put(tick, query.name, "width within precision", value, high - low, float(precision), within)

    def _put(self, *cells: Any) -> None:
        for column, cell in zip(self.columns.values(), cells, strict=True):
            column.append(cell)

    def verdicts(self) -> Verdicts:
        wrong = self.surplus + self.missing
        self._put(self.moment.end, "", "a row for every query that has objects", 0.0, float(wrong), 0.0, wrong == 0)
        return Verdicts.columns(len(self.columns["tick"]), {"node": COORDINATOR, **self.columns})
