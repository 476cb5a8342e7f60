"""The question: what are the quantiles over the different items of a number?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate

from pydantic import Field, field_validator

from monitoring_lib.answers import Answer, Answers, Verdict, Verdicts
from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.methods import Ask, Keys, Moment, Question, Truth
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.distinct_pairs.pairs import NumbersSummary, Pairs
from monitoring_lib.shares import ShareOrNone, once_each
from monitoring_lib.summaries import Measure

MOST_BITS = 40


class QuantilesParams(Keys):
    """What a monitor of this question may say."""

    bits: int = Field(ge=1, le=MOST_BITS, description="items are whole numbers from 0 to 2^bits - 1")
    quantiles: tuple[ShareOrNone, ...] = Field(min_length=1, description="such as 0.5")
    error: Decimal = Field(gt=0, lt=1, max_digits=25, description="of rank")

    _once_each = field_validator("quantiles")(once_each)


class DistinctQuantiles(Question):
    """With F(v) the share of the different pairs (or items) whose item is at most v, for each quantile q::

    Pr[ F(low - 1) <= q <= F(high) ] >= confidence            a true quantile lies in low..high
    Pr[ F(low) >= q - error, F(high - 1) <= q + error ] >= confidence
    """

    name = "distinct-quantiles"
    asks = "Where do the quantiles of the different numbers lie?"
    Params = QuantilesParams
    default_method = "shared-bits"
    baseline = "exact"
    shape = "rows"
    precision = "error"
    windows = frozenset(("growing", "reset"))
    of_pairs = True

    def faults(self, ask: Ask) -> Iterable[KeyFault]:
        if ask.measure != Measure():
            yield KeyFault(("measure",), "a number, or a pair, counts once, whatever its values are", "leave it out")

    def exact(self, ask: Ask) -> NumbersSummary:
        return NumbersSummary(ask.params.bits, ask.paired)

    def truth(self, ask: Ask) -> Truth:
        return QuantilesTruth(ask)

    def promise(self, ask: Ask) -> str:
        return f"ranks within {ask.params.error:f} ({ask.confidence:g})"

    def meaning(self, ask: Ask) -> str:
        what = "pairs" if ask.paired else "items"
        return (
            f"low..high holds a true quantile over the different {what}, and no value in it is off by more than"
            f" {ask.params.error:%} of the ranks, in {ask.confidence:.0%} of all runs"
        )


class QuantilesTruth(Truth):
    """Every different pair, and how many of them each number has."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.period = 0
        self.pairs: set[tuple[str, str]] = set()
        self.numbers: dict[int, int] = {}

    def observe(self, moment: Moment, node: str, arriving: Pairs, expiring: Pairs) -> None:
        self._enter(moment)
        for pair in arriving:
            if pair not in self.pairs:
                self.pairs.add(pair)
                number = int(pair[0])
                self.numbers[number] = self.numbers.get(number, 0) + 1

    def _enter(self, moment: Moment) -> None:
        if self.period != moment.period:
            self.period = moment.period
            self.pairs.clear()
            self.numbers.clear()

    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        self._enter(moment)
        asked = {f"q{quantile}": Fraction(str(quantile)) for quantile in self.ask.params.quantiles}
        rows = list(answers)
        ranks = _Ranks(self.numbers)
        verdicts = [self._shape(moment, rows, asked)]
        for row in rows:
            if row.key in asked and self.numbers:
                verdicts += self._row(row, asked[row.key], ranks)
        return Verdicts.of(verdicts)

    def _shape(self, moment: Moment, rows: Sequence[Answer], asked: dict[str, Fraction]) -> Verdict:
        expected = sorted(asked) if self.numbers else []
        shaped = all((row.rank, row.tick, row.node) == (None, moment.end, COORDINATOR) for row in rows)
        values = all(
            0 <= value < 1 << self.ask.params.bits and value == int(value)
            for row in rows
            for value in (row.low, row.estimate, row.high)
        )
        kept = sorted(row.key for row in rows) == expected and shaped and values
        return Verdict(COORDINATOR, moment.end, "", "rows as asked", len(expected), 0, 0, kept)

    def _row(self, row: Answer, quantile: Fraction, ranks: _Ranks) -> list[Verdict]:
        low, high, exact = int(row.low), int(row.high), ranks.quantile(quantile)
        inside = row.low <= row.estimate <= row.high
        holds = inside and ranks.up_to(low - 1) <= quantile <= ranks.up_to(high)
        far = max(ranks.distance(low, quantile), ranks.distance(high, quantile))
        error, confidence = Fraction(self.ask.params.error), row.confidence
        off = float(ranks.distance(int(row.estimate), quantile))
        return [
            Verdict(
                row.node, row.tick, row.key, "holds a quantile", exact, off, float(error), holds, confidence
            ),
            Verdict(
                row.node, row.tick, row.key, "ranks within error", exact, float(far), float(error), far <= error,
                confidence,
            ),
        ]  # fmt: skip


class _Ranks:
    """The share of all pairs up to each number."""

    def __init__(self, numbers: dict[int, int]) -> None:
        self.values = sorted(numbers)
        self.sums = list(accumulate(numbers[value] for value in self.values))

    def up_to(self, value: int) -> Fraction:
        at = bisect_right(self.values, value)
        return Fraction(self.sums[at - 1], self.sums[-1]) if at else Fraction(0)

    def distance(self, value: int, quantile: Fraction) -> Fraction:
        """How far the quantile is from the ranks that the value covers."""
        return max(self.up_to(value - 1) - quantile, quantile - self.up_to(value), Fraction(0))

    def quantile(self, share: Fraction) -> int:
        return next(value for value in self.values if self.up_to(value) >= share)
