"""Two keys: how many different pairs (item, by) are there over all sites?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from monitoring_lib.answers import Answers, Verdicts
from monitoring_lib.methods import Ask, Moment, Truth
from monitoring_lib.summaries import Cell, Rows, Summary
from monitoring_lib.synopses.base import Synopsis
from monitoring_lib.tally import Tally
from tests.laws.toys.plain import PlainQuestion, judge_number

Pair = tuple[str, str]


@dataclass(slots=True)
class PairCounts(Synopsis, tag=201, version=1):
    """Pair to number of events."""

    counts: Tally = field(default_factory=Tally)

    def _merged(self, other: PairCounts) -> PairCounts:
        merged = Tally(self.counts.items())
        merged.add_all(other.counts.keys(), other.counts.values())
        return PairCounts(merged)


@dataclass(frozen=True)
class EventsByPair(Summary):
    synopsis = PairCounts

    @property
    def keys(self) -> tuple[str, ...]:
        return ("item", "by")

    def build(self, cell: Cell, rows: Rows) -> PairCounts:
        pairs = zip(rows.keys["item"].to_pylist(), rows.keys["by"].to_pylist(), strict=True)
        return PairCounts(Tally(zip(pairs, rows.values.to_pylist(), strict=True)))


class DistinctPairs(PlainQuestion):
    """How many different pairs there are."""

    name, default_method, baseline, shape = "distinct-pairs", "telling-pairs", "telling-pairs", "number"
    of_pairs = True

    def exact(self, ask: Ask) -> EventsByPair:
        return EventsByPair()

    def truth(self, ask: Ask) -> Truth:
        return PairTruth()

    def needs(self, params: object) -> Sequence[str]:
        return ("by",)


class PairTruth(Truth):
    def __init__(self) -> None:
        self.counts: dict[int, Counter[Pair]] = {}

    def observe(self, moment: Moment, node: str, arriving: PairCounts, expiring: PairCounts) -> None:
        counts = self.counts.setdefault(moment.period, Counter())
        counts.update(dict(arriving.counts.items()))
        counts.subtract(dict(expiring.counts.items()))

    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        exact = sum(count > 0 for count in self.counts.get(moment.period, {}).values())
        return judge_number(moment, answers, "different pairs", exact)
