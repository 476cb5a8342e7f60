"""The exact self-join size, and the self-join of the arrays that the sites' events make."""

from __future__ import annotations

import math
from fractions import Fraction

from monitoring_lib.answers import Answer, Answers, Verdict, Verdicts
from monitoring_lib.methods import Ask, Moment
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.geometric.sizes import Sizes
from monitoring_lib.protocols.geometric.truth import WindowTruth


class SelfJoinTruth(WindowTruth):
    """F2 from exact counts; f, with a sketch, from the arrays of the present sites."""

    def __init__(self, ask: Ask, sizes: Sizes) -> None:
        super().__init__(ask, sizes, has_arrays=sizes.rows is not None)

    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        now, nodes = self.move(moment)
        rows = list(answers)
        if len(rows) != 1 or (rows[0].key, rows[0].rank, rows[0].tick) != ("", None, moment.end):
            found = Verdict(COORDINATOR, moment.end, "", "one row", 1, len(rows), 1, False)
            return Verdicts.of([found])
        return Verdicts.of([self._against_arrays(moment, rows[0], now, nodes), *self._against_counts(rows[0])])

    def _against_arrays(self, moment: Moment, row: Answer, now: int, nodes: frozenset[str]) -> Verdict:
        tolerance, least = Fraction(repr(self.ask.params.tolerance)), Fraction(self.sums.size)
        most = least
        if self.arrays is not None:
            total = self.arrays.total(now, nodes).astype(object)
            least = most = Fraction(int((total * total).sum(axis=1).min()))
            if not self.arrays.known:
                error = Fraction(self.sizes.counter_error)
                least, most = least * ((1 - error) / (1 + error)) ** 2, most * ((1 + error) / (1 - error)) ** 2
        estimate, exact = Fraction(row.estimate), float((least + most) / 2)
        kept = (1 - tolerance) * least <= estimate <= (1 + tolerance) * most or self._is_exact(row)
        allowed = exact * self.ask.params.tolerance
        name = "within tolerance of the arrays"
        return Verdict(row.node, row.tick, "", name, exact, abs(row.estimate - exact), allowed, kept)

    def _is_exact(self, row: Answer) -> bool:
        """A method without arrays says the true number, and that it is."""
        return row.low == row.estimate == row.high == float(self.sums.size)

    def _against_counts(self, row: Answer) -> list[Verdict]:
        size, error = self.sums.size, abs(row.estimate - self.sums.size)
        inside = row.low <= row.estimate <= row.high and row.low <= size <= row.high
        width = max(row.high - row.estimate, row.estimate - row.low)
        verdicts = [Verdict(row.node, row.tick, "", "size within bounds", size, error, width, inside, row.confidence)]
        if self.arrays is not None:
            tolerance, counters = self.ask.params.tolerance, self.sizes.counter_error
            least = (1 - tolerance) * (1 - counters) ** 2 * size
            most = (1 + tolerance) * (size + self.ask.params.error * self.sums.events**2)
            sure = row.estimate >= least * (1 - 1e-12)
            probable = row.estimate <= most * (1 + 1e-12)
            verdicts += [
                Verdict(row.node, row.tick, "", "not below the size", size, error, size - least, sure),
                Verdict(row.node, row.tick, "", "not above the size", size, error, most - size, probable,
                        self.ask.confidence),
            ]  # fmt: skip
        return [verdict for verdict in verdicts if not math.isnan(verdict.error)]
