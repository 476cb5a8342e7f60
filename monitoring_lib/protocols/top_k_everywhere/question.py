"""The question: which k items have the largest sums over all sites, as every site sees it?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from pydantic import Field

from monitoring_lib.answers import Answer, Answers, Verdict, Verdicts
from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.errors import DataError
from monitoring_lib.item_counts import ItemCounts, only_sums
from monitoring_lib.methods import Ask, Keys, Moment, Question, Truth
from monitoring_lib.protocols.top_k_everywhere.distance import normalised_distance
from monitoring_lib.synopses.counts import Counts


class TopKEverywhereParams(Keys):
    """What a monitor of this question may say."""

    k: int = Field(gt=0, description="how many items the answer has")


class TopKEverywhere(Question):
    """At every present site and at the end of every epoch the published list is the exact top k.

    ``estimate == low == high == V[item]``, V the sum over all sites; ties go to the smallest item, and items with
    sum 0 are not listed. While a site is missing, answers are partial: ``low <= V[item]`` over the present sites.
    """

    name = "top-k-everywhere"
    asks = "Which items come first, as every site knows them?"
    Params = TopKEverywhereParams
    default_method = "topico"
    baseline = "full-lists"
    shape = "views"
    judged_by_options = True

    def exact(self, ask: Ask) -> ItemCounts:
        return ItemCounts(ask.measure)

    def truth(self, ask: Ask) -> Truth:
        return EverywhereTruth(ask)

    def faults(self, ask: Ask) -> Iterable[KeyFault]:
        return only_sums(ask.measure)

    def promise(self, ask: Ask) -> str:
        return "exact at every site (always)" if exact_lists(ask) else "sums within bounds (always)"

    def meaning(self, ask: Ask) -> str:
        return f"every site lists the {ask.params.k} items with the largest sums over all sites, with their exact sums"


def exact_lists(ask: Ask) -> bool:
    """Whether lists are promised to be exact: fewer than three rounds without early stop leave them a guess."""
    return getattr(ask.options, "rounds", 3) >= 3 or getattr(ask.options, "early_stop", False)


def refuse_negative(ask: Ask, node: str, name: str, value: int) -> None:
    """A site may leave small sums untold because no other site can have less than 0 of an item."""
    if value < 0:
        raise DataError(
            f"site {node!r}: the sum of item {name[:80]!r} fell to {value / ask.scale:g}; top-k-everywhere needs"
            ' sums of at least 0: drop negative values with `where: "value >= 0"`, or ask `top-k` with `signed: true`'
        )


class EverywhereTruth(Truth):
    """Exact sums of every site, added up anew when they are judged."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.period = 0
        self.by_site: dict[str, dict[str, int]] = {}

    def observe(self, moment: Moment, node: str, arriving: Counts, expiring: Counts) -> None:
        self._enter(moment)
        own = self.by_site.setdefault(node, {})
        for counts, sign in ((arriving, 1), (expiring, -1)):
            for name, value in counts:
                own[name] = own.get(name, 0) + sign * value
                if not own[name]:
                    del own[name]

    def _enter(self, moment: Moment) -> None:
        if self.period != moment.period:
            self.period = moment.period
            self.by_site.clear()

    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        self._enter(moment)
        totals = self._sums(moment.sites)
        expected = sorted(((name, value) for name, value in totals.items() if value > 0), key=_by_rank)
        expected = expected[: self.ask.params.k]
        views: dict[str, list[Answer]] = {node: [] for node in moment.present}
        for row in answers:
            views.setdefault(row.node, []).append(row)
        least = self._sums(moment.present) if moment.missing or moment.owed else totals
        verdicts: list[Verdict] = []
        for node, rows in views.items():
            verdicts += self._view(moment, node, rows, expected, least)
        return Verdicts.of(verdicts)

    def _sums(self, nodes: Sequence[str]) -> dict[str, int]:
        totals: dict[str, int] = {}
        for node in nodes:
            for name, value in self.by_site.get(node, {}).items():
                totals[name] = totals.get(name, 0) + value
        return totals

    def _view(
        self, moment: Moment, node: str, rows: list[Answer], expected: list[tuple[str, int]], least: dict[str, int]
    ) -> list[Verdict]:
        """One verdict on the list as a whole, whose error is its rank distance, and one on each sum."""
        scale, promised = self.ask.scale, exact_lists(self.ask)
        ordered = [row.rank for row in rows] == list(range(1, len(rows) + 1)) and node in moment.present
        found = [(row.key, row.estimate) for row in sorted(rows, key=lambda row: row.rank or 0)]
        exact = [(name, value / scale) for name, value in expected]
        distance = normalised_distance([name for name, _ in found], [name for name, _ in exact])
        partial = any(row.partial for row in rows) or (not rows and bool(moment.missing or moment.owed))
        right = ordered and (partial or not promised or found == exact)
        allowed = math.inf if partial or not promised else 0.0
        kth = exact[-1][1] if len(exact) == self.ask.params.k else 0.0
        verdicts = [Verdict(node, moment.end, "", "list is the top k", kth, distance, allowed, right)]
        for row in rows:
            true = least.get(row.key, 0) / scale
            kept = row.low <= row.estimate <= row.high and row.low <= true <= row.high
            verdicts.append(
                Verdict(node, row.tick, row.key, "sum within bounds", true, abs(row.estimate - true),
                        row.high - row.low, kept)
            )  # fmt: skip
        return verdicts


def _by_rank(pair: tuple[str, int]) -> tuple[int, str]:
    return -pair[1], pair[0]
