"""The question: which k items have the largest (or smallest) sums over all sites?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Literal

from pydantic import Field

from monitoring_lib.answers import Answer, Answers, Verdict, Verdicts
from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.errors import DataError
from monitoring_lib.item_counts import ItemCounts, only_sums
from monitoring_lib.methods import Ask, Keys, Moment, Question, Truth
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.topk.ranking import Ranking, Sums
from monitoring_lib.synopses.counts import Counts


class TopKParams(Keys):
    """What a monitor of this question may say."""

    k: int = Field(gt=0, description="how many items the answer has")
    tolerance: Decimal = Field(
        default=Decimal(0),
        ge=0,
        description="how much an outsider may exceed a member, in the measure's unit",
    )
    order: Literal["largest", "smallest"] = "largest"
    signed: bool = Field(default=False, description="whether sums can fall below 0")
    totals: Decimal | None = Field(
        default=None, ge=0, lt=1,
        description="published totals are known within this share of themselves; 0: exactly; not given: as it comes",
    )  # fmt: skip


def tolerance_of(ask: Ask) -> int:
    """The tolerance in whole units of the scaled measure, rounded down."""
    return int(ask.params.tolerance * ask.scale)


def within_share(ask: Ask, total: int, width: int) -> bool:
    """``high - low <= totals * |total|``, where the question asks for it; with a little room for rounding in floats."""
    share = ask.params.totals
    return share is None or width * 10**9 <= share * abs(total) * (10**9 - 1)


def ranked(sums: Sums, ask: Ask) -> list[tuple[str, int]]:
    """The best k items, ties by name. Of the largest only sums above 0 count: any name nobody used has 0."""
    if ask.params.order == "largest":
        return [pair for pair in Ranking(sums).largest(ask.params.k) if pair[1] > 0]
    return Ranking(sums).smallest(ask.params.k)


class TopK(Question):
    """``V[t] + tolerance >= V[s]`` for every published t and every other s, at the end of every epoch.

    V is the exact sum over all sites. As the largest only sums above 0 are published, so far as the
    tolerance lets tell: ``V[t] + tolerance > 0``; where there are fewer than k, the missing members count 0.
    For the smallest the inequality is turned round, over all items ever named since the last reset.

    With `totals`, while no site is missing: ``high - low <= totals * |estimate|`` for every published row.

    A site that is missing counts with what it last observed. An answer whose set cannot be proved without such a
    site is partial: of it only the bounds of the totals are promised.
    """

    name = "top-k"
    asks = "Which items come first over all sites?"
    Params = TopKParams
    default_method = "margins"
    baseline = "caching"
    shape = "ranking"
    precision = "tolerance"

    def exact(self, ask: Ask) -> ItemCounts:
        return ItemCounts(ask.measure)

    def truth(self, ask: Ask) -> Truth:
        return TopKTruth(ask)

    def faults(self, ask: Ask) -> Iterable[KeyFault]:
        return only_sums(ask.measure)

    def promise(self, ask: Ask) -> str:
        share = ask.params.totals
        totals = "" if share is None else f", totals within {share.normalize():f} of themselves"
        return f"valid within {ask.params.tolerance.normalize():f}{totals} (always)"

    def meaning(self, ask: Ask) -> str:
        tolerance = f"{ask.params.tolerance.normalize():f}"
        if ask.params.order == "smallest":
            return f"no item outside the list lies below one inside by more than {tolerance}; the order is by estimate"
        return f"no item outside the list exceeds one inside by more than {tolerance}; the order inside is by estimate"


class TopKTruth(Truth):
    """Exact sums over the sites of the roster; a missing site counts with what it last observed."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.sums: dict[str, int] = {}
        self._by_site: dict[str, dict[str, int]] = {}
        self._roster: tuple[str, ...] = ()
        self._period = 0
        self._best: list[int] | None = None

    def observe(self, moment: Moment, node: str, arriving: Counts, expiring: Counts) -> None:
        self._enter(moment)
        self._best = None
        own = self._by_site.setdefault(node, {})
        for change, sign in ((arriving, 1), (expiring, -1)):
            values = (sign * change.sums).tolist()
            self._add(own, change.names, values)
            self._add(self.sums, change.names, values)

    def _enter(self, moment: Moment) -> None:
        if self._period != moment.period:
            self._period, self._best = moment.period, None
            self.sums.clear()
            self._by_site.clear()
        if self._roster != moment.sites:
            changed = set(self._roster) ^ set(moment.sites)
            self._roster = moment.sites
            if not changed.isdisjoint(self._by_site):
                self._sum_up()

    def _sum_up(self) -> None:
        """Sites left or came back: only what those on the roster have named counts."""
        self._best = None
        self.sums.clear()
        for node in self._roster:
            own = self._by_site.get(node, {})
            self._add(self.sums, own.keys(), own.values())

    def _add(self, sums: dict[str, int], names: Iterable[str], values: Iterable[int]) -> None:
        drops_zeros = self.ask.params.order == "largest"
        for name, value in zip(names, values, strict=True):
            total = sums.get(name, 0) + value
            if total == 0 and drops_zeros:
                sums.pop(name, None)
            else:
                sums[name] = total

    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        self._enter(moment)
        members = list(answers)
        verdicts = [self._judge_set(moment, members)]
        for row in members:
            exact = self.sums.get(row.key, 0) / self.ask.scale
            allowed = max(row.high - row.estimate, row.estimate - row.low)
            kept = row.low <= exact <= row.high
            error = abs(row.estimate - exact)
            verdicts.append(Verdict(row.node, row.tick, row.key, "total within bounds", exact, error, allowed, kept))
            if self.ask.params.totals is not None and not moment.missing:
                width, most = row.high - row.low, float(self.ask.params.totals) * abs(row.estimate)
                verdicts.append(
                    Verdict(row.node, row.tick, row.key, "total within its share", exact, width, most, width <= most)
                )
        return Verdicts.of(verdicts)

    def _judge_set(self, moment: Moment, rows: Sequence[Answer]) -> Verdict:
        params, scale = self.ask.params, self.ask.scale
        members = {row.key for row in rows}
        direction = 1 if params.order == "largest" else -1
        inside = [direction * self.sums.get(name, 0) for name in members]
        best = self._best_outsider(members, direction)
        if params.order == "largest":
            inside += [0] * (params.k - len(members))
            best = max(best or 0, 0)
        complete = len(members) == len(rows) <= params.k and (
            params.order == "largest" or (len(members) == min(params.k, len(self.sums)) and members <= self.sums.keys())
        )
        error = max(0, best - min(inside)) if best is not None and inside else 0
        within, allowed = error <= tolerance_of(self.ask), float(params.tolerance)
        lacking = moment.owed or bool(moment.missing)
        if any(row.partial for row in rows) or (lacking and not rows):  # only data that is missing excuses it
            within, allowed = lacking, math.inf
        return Verdict(
            rows[0].node if rows else COORDINATOR, moment.end, "", "set within tolerance",
            self._kth(direction) / scale, error / scale, allowed, complete and within,
        )  # fmt: skip

    def _best_outsider(self, members: set[str], direction: int) -> int | None:
        """The largest score among all but the members: the scores in order, each member's struck out once."""
        own = Counter(direction * self.sums[name] for name in members if name in self.sums)
        for score in self._top(len(members) + 1, direction):
            if own[score] == 0:
                return score
            own[score] -= 1
        return None

    def _kth(self, direction: int) -> int:
        top = self._top(self.ask.params.k, direction)
        if len(top) < self.ask.params.k:
            return 0
        kth = top[self.ask.params.k - 1]
        return direction * kth if direction < 0 or kth > 0 else 0

    def _top(self, count: int, direction: int) -> list[int]:
        if self._best is None or len(self._best) < min(count, len(self.sums)):
            self._best = Ranking(self.sums).top_numbers(max(count, self.ask.params.k + 1), direction)
        return self._best


def refuse_negative(ask: Ask, node: str, name: str, value: int) -> None:
    """A sum below 0 in a monitor that was not told to expect one would make its bounds untrue."""
    if value < 0 and not ask.params.signed:
        raise DataError(
            f"site {node!r}: the sum of item {name[:80]!r} fell to {value / ask.scale:g};"
            " say `signed: true` in the monitor"
        )
