"""The items that must be listed, may be, and must not: from exact counts, and from the arrays of the sites' events."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.answers import Answer, Answers, Verdict, Verdicts
from monitoring_lib.methods import Ask, Moment
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.geometric.sizes import Sizes
from monitoring_lib.protocols.geometric.truth import WindowTruth


class OverThresholdTruth(WindowTruth):
    """Every listed item has a verdict of its own; those that are missing from the list have one together (key '')."""

    def __init__(self, ask: Ask, sizes: Sizes) -> None:
        has_arrays = sizes.rows is not None and hasattr(ask.options, "seed")  # which `every-update` has not
        super().__init__(ask, sizes, has_arrays=has_arrays)
        threshold, slack = (Fraction(repr(number)) for number in (ask.params.threshold, ask.params.slack))
        self.low, self.high = threshold * (1 - slack), threshold * (1 + slack)

    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        now, nodes = self.move(moment)
        rows = list(answers)
        verdicts = [self._complete(moment, rows), *self._counted_complete(moment, rows, now, nodes)]
        counters = self._counters([row.key for row in rows], now, nodes)
        stretch = self._stretch()
        for row, counted in zip(rows, counters * stretch, strict=True):
            verdicts += self._listed(row, counted)
        return Verdicts.of(verdicts)

    def _complete(self, moment: Moment, rows: list[Answer]) -> Verdict:
        """The error is the largest count of an item that is not there."""
        listed = {row.key for row in rows}
        well_formed = len(listed) == len(rows) and all(row.rank is None and row.tick == moment.end for row in rows)
        largest = max((count for name, count in self.sums.sums.items() if name not in listed), default=0)
        allowed = self.high / (1 - Fraction(self.sizes.counter_error))
        kept = well_formed and largest < allowed
        return Verdict(COORDINATOR, moment.end, "", "none is missing", largest, largest, float(allowed), kept)

    def _counted_complete(self, moment: Moment, rows: list[Answer], now: int, nodes: frozenset[str]) -> list[Verdict]:
        """With a sketch: the largest of the items of the window that are not there, as their counters count it."""
        if self.arrays is None:
            return []
        names = sorted(self.sums.sums.keys() - {row.key for row in rows})
        largest = float(self._counters(names, now, nodes).max(initial=0.0)) / self._stretch()
        name, kept = "none is missing, as counted", largest < self.high
        return [Verdict(COORDINATOR, moment.end, "", name, largest, largest, float(self.high), kept)]

    def _stretch(self) -> float:
        """By what counters may be larger or smaller where it is not known what the sites fed them with."""
        error = self.sizes.counter_error
        return 1.0 if self.arrays is None or self.arrays.known else (1 + error) / (1 - error)

    def _counters(self, names: list[str], now: int, nodes: frozenset[str]) -> NDArray[np.float64]:
        """Of each item the smallest sum of its counters."""
        if self.arrays is None or not names:
            return np.array([self.sums.sums.get(name, 0) for name in names], np.float64)
        assert self.sizes.rows is not None
        total, keys = self.arrays.total(now, nodes), self.sizes.rows.keys(names)
        depth = range(self.sizes.rows.depth)
        smallest = np.min([total[at, self.sizes.rows.columns(at, keys)] for at in depth], axis=0)
        found: NDArray[np.float64] = smallest.astype(np.float64)
        return found

    def _listed(self, row: Answer, counted: float) -> list[Verdict]:
        count = self.sums.sums.get(row.key, 0)
        exact = row.low == row.estimate == row.high == count >= self.low  # a method without arrays
        error = abs(row.estimate - count)
        inside = row.low <= row.estimate <= row.high and row.low <= count <= row.high
        short = max(0.0, float(self.low - Fraction(counted)))
        found = [
            Verdict(row.node, row.tick, row.key, "counters over the threshold", counted, short, 0.0,
                    counted >= self.low or exact),
            Verdict(row.node, row.tick, row.key, "count within bounds", count, error, row.high - row.low, inside,
                    row.confidence),
        ]  # fmt: skip
        if self.arrays is not None:
            short, allowed = max(0.0, float(self.low - count)), self.ask.params.error * self.sums.events
            near = count + allowed >= self.low
            found.append(
                Verdict(row.node, row.tick, row.key, "count near the threshold", count, short, allowed, near,
                        self.ask.confidence)
            )  # fmt: skip
        return found
