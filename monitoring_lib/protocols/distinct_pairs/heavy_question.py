"""The question: which items have the most different partners?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction

from pydantic import Field

from monitoring_lib.answers import Answer, Answers, Verdict, Verdicts
from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.methods import Ask, Keys, Moment, Question, Truth
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.distinct_pairs.pairs import Pairs, PairsSummary
from monitoring_lib.summaries import Measure


class HeavyHittersParams(Keys):
    """What a monitor of this question may say."""

    share: Decimal = Field(gt=0, lt=1, max_digits=25, description="of all different pairs: items above it are listed")
    error: Decimal = Field(
        gt=0, lt=1, max_digits=25, description="of all different pairs: items below share - error are not listed"
    )


class DistinctHeavyHitters(Question):
    """For an item with d different partners among N different pairs, over the seeds of the hash::

    d > share * N             is listed with `confidence`
    d < (share - error) * N   is not listed with `confidence`
    low <= d <= high          with the row's confidence, high - low <= 3 error / share * max(estimate, share N) + 2
    """

    name = "distinct-heavy-hitters"
    asks = "Which items have the most different partners?"
    Params = HeavyHittersParams
    default_method = "shared-bits"
    baseline = "exact"
    shape = "ranking"
    precision = "error"
    windows = frozenset(("growing", "reset"))
    of_pairs = True

    def needs(self, params: HeavyHittersParams) -> Sequence[str]:
        return ("by",)

    def faults(self, ask: Ask) -> Iterable[KeyFault]:
        if ask.measure != Measure():
            yield KeyFault(("measure",), "a pair counts once, whatever values its events have", "leave it out")
        if ask.params.error >= ask.params.share:
            yield KeyFault(
                ("error",), f"is no less than the share of {ask.params.share}",
                "choose a smaller error, such as a fifth of the share",
            )  # fmt: skip

    def exact(self, ask: Ask) -> PairsSummary:
        return PairsSummary()

    def truth(self, ask: Ask) -> Truth:
        return HeavyHittersTruth(ask)

    def promise(self, ask: Ask) -> str:
        return f"all above {ask.params.share:f} of the pairs, within {ask.params.error:f} ({ask.confidence:g})"

    def meaning(self, ask: Ask) -> str:
        least = ask.params.share - ask.params.error
        return (
            f"an item with more than {ask.params.share:%} of all different pairs is listed, one with less than"
            f" {least:%} is not, each in {ask.confidence:.0%} of all runs; the order is by estimate"
        )


class HeavyHittersTruth(Truth):
    """Every different pair, and how many of them each item has."""

    def __init__(self, ask: Ask) -> None:
        self.share, self.error = Fraction(ask.params.share), Fraction(ask.params.error)
        self.period = 0
        self.pairs: set[tuple[str, str]] = set()
        self.partners: dict[str, int] = {}

    def observe(self, moment: Moment, node: str, arriving: Pairs, expiring: Pairs) -> None:
        self._enter(moment)
        for pair in arriving:
            if pair not in self.pairs:
                self.pairs.add(pair)
                self.partners[pair[0]] = self.partners.get(pair[0], 0) + 1

    def _enter(self, moment: Moment) -> None:
        if self.period != moment.period:
            self.period = moment.period
            self.pairs.clear()
            self.partners.clear()

    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        self._enter(moment)
        rows = {row.key: row for row in answers if row.rank is not None}
        totals = [row for row in answers if row.rank is None]
        verdicts = [self._shape(moment, list(answers), totals)]
        confidence = totals[0].confidence if totals else 1.0
        for row in totals:
            verdicts += self._bounds(row, len(self.pairs))
        for row in rows.values():
            verdicts += self._bounds(row, self.partners.get(row.key, 0))
        least = (self.share - self.error) * len(self.pairs)
        for item, row in rows.items():
            found = self.partners.get(item, 0)
            verdicts.append(
                _of_item(moment, item, "not below share - error", found, least, found >= least, row.confidence)
            )
        most = self.share * len(self.pairs)
        for item, found in sorted(self.partners.items()):
            if found > most:
                verdicts.append(_of_item(moment, item, "above share is listed", found, most, item in rows, confidence))
        return Verdicts.of(verdicts)

    def _shape(self, moment: Moment, rows: Sequence[Answer], totals: Sequence[Answer]) -> Verdict:
        """One row for the pairs; ranks 1..n by estimate; no item twice."""
        ranked = sorted((row for row in rows if row.rank is not None), key=lambda row: row.rank or 0)
        estimates = [row.estimate for row in ranked]
        kept = (
            [row.key for row in totals] == [""]
            and [row.rank for row in ranked] == list(range(1, len(ranked) + 1))
            and estimates == sorted(estimates, reverse=True)
            and len({row.key for row in ranked}) == len(ranked)
            and all((row.tick, row.node) == (moment.end, COORDINATOR) for row in rows)
        )
        return Verdict(COORDINATOR, moment.end, "", "ranked, with the number of pairs", len(self.pairs), 0, 0, kept)

    def _bounds(self, row: Answer, exact: int) -> list[Verdict]:
        inside = row.low <= exact <= row.high and row.low <= row.estimate <= row.high
        error, reach = abs(row.estimate - exact), max(row.high - row.estimate, row.estimate - row.low)
        base = max(row.estimate, float(self.share * len(self.pairs)))
        width, allowed = row.high - row.low, float(3 * self.error / self.share) * base + 2
        return [
            Verdict(row.node, row.tick, row.key, "within bounds", exact, error, reach, inside, row.confidence),
            Verdict(row.node, row.tick, row.key, "no wider than", exact, width, allowed, width <= allowed * (1 + 1e-9)),
        ]


def _of_item(
    moment: Moment, item: str, promise: str, found: int, limit: Fraction, kept: bool, confidence: float
) -> Verdict:
    off = 0.0 if kept else abs(float(found - limit))
    return Verdict(COORDINATOR, moment.end, item, promise, found, off, 0, kept, confidence)
