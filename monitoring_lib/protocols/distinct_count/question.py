"""The question: how many different items are there over all sites?"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from monitoring_lib.answers import Answer, Answers, Verdict, Verdicts
from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.item_counts import ItemCounts
from monitoring_lib.methods import Ask, Keys, Moment, Question, Truth
from monitoring_lib.network import COORDINATOR
from monitoring_lib.summaries import Measure
from monitoring_lib.synopses.counts import Counts

_ROUNDING = 1e-9  # of floats, relative


class DistinctCountParams(Keys):
    """What a monitor of this question may say."""

    error: float = Field(gt=0, lt=1, description="relative error of the published number, sketch and lag together")


class DistinctCount(Question):
    """The number n of different items in the window, each counted once at however many sites it occurs::

        Pr[ low <= n <= high ] >= confidence        over the seeds of the hash, at every epoch
        low >= estimate * (1 - error) - 1,  high <= estimate / (1 - error) + 1      always

    The method `exact` says ``low == estimate == high == n``, always. Items of a site that has left the roster count
    until they leave the window: they did occur.
    """

    name = "distinct-count"
    asks = "How many different items are there over all sites?"
    Params = DistinctCountParams
    default_method = "repaid-sharing"
    baseline = "exact"
    shape = "number"
    precision = "error"

    def faults(self, ask: Ask) -> Iterable[KeyFault]:
        if ask.measure != Measure():
            yield KeyFault(("measure",), "an item counts once, whatever its values are", "leave it out")

    def exact(self, ask: Ask) -> ItemCounts:
        return ItemCounts()

    def truth(self, ask: Ask) -> Truth:
        return DistinctCountTruth(ask)

    def promise(self, ask: Ask) -> str:
        if not hasattr(ask.options, "sketch"):
            return "exact (always)"
        return f"within {100 * ask.params.error:g} % (confidence {ask.confidence:g})"

    def meaning(self, ask: Ask) -> str:
        if not hasattr(ask.options, "sketch"):
            return "the number of different items over all sites, each counted once"
        return (
            "the number of different items over all sites, each counted once, lies between low and high with a"
            f" probability of at least {ask.confidence:g}; both lie within {100 * ask.params.error:g} % of the estimate"
        )


class DistinctCountTruth(Truth):
    """The epoch in which each item was last seen, exact, and in the order of these epochs."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self._period = 0
        self._last_seen: dict[str, int] = {}

    def observe(self, moment: Moment, node: str, arriving: Counts, expiring: Counts) -> None:
        self._enter(moment)
        names = arriving.names.tolist()
        if self.ask.window.length is not None:
            for name in names:  # an item that is seen again moves to the end
                self._last_seen.pop(name, None)
        self._last_seen.update(dict.fromkeys(names, moment.epoch))

    def _enter(self, moment: Moment) -> None:
        if self._period != moment.period:
            self._period = moment.period
            self._last_seen.clear()
        if self.ask.window.length is None:
            return
        first, left = moment.epoch - self.ask.window.length + 1, []
        for name, epoch in self._last_seen.items():
            if epoch >= first:
                break
            left.append(name)
        for name in left:
            del self._last_seen[name]

    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        self._enter(moment)
        exact, rows = float(len(self._last_seen)), list(answers)
        verdicts = [self._judge_form(moment, rows, exact)]
        for row in rows:
            allowed = max(row.high - row.estimate, row.estimate - row.low)
            kept, error = row.low <= exact <= row.high, abs(row.estimate - exact)
            verdicts.append(
                Verdict(row.node, row.tick, row.key, "count within bounds", exact, error, allowed, kept, row.confidence)
            )
        return Verdicts.of(verdicts)

    def _judge_form(self, moment: Moment, rows: list[Answer], exact: float) -> Verdict:
        """One row, and the width that was asked for; of a partial one no width is promised."""
        if len(rows) != 1:
            return Verdict(COORDINATOR, moment.end, "", "width within error", exact, float("inf"), 0.0, False)
        row = rows[0]
        low, high = limits(self.ask, row.estimate)
        slack = _ROUNDING * row.estimate
        sound = (row.key, row.rank, row.tick) == ("", None, moment.end) and row.low <= row.estimate <= row.high
        within = row.partial or (low - slack <= row.low and row.high <= high + slack)
        excess = max(low - row.low, row.high - high, 0.0)
        return Verdict(row.node, row.tick, "", "width within error", exact, excess, slack, sound and within)


def limits(ask: Ask, estimate: float) -> tuple[float, float]:
    """How low and how high the bounds of an estimate may be."""
    return estimate * (1 - ask.params.error) - 1, estimate / (1 - ask.params.error) + 1
