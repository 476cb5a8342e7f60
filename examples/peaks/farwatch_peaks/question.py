"""The question: its keys, what sites take in of an epoch, the promise, and the exact truth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow.compute as pc
from pydantic import Field

from monitoring_lib.answers import Answers, Verdict, Verdicts
from monitoring_lib.documents.faults import KeyFault
from monitoring_lib.methods import Ask, Keys, Moment, Question, Truth
from monitoring_lib.network import COORDINATOR
from monitoring_lib.summaries import Cell, Measure, Rows, Summary
from monitoring_lib.synopses.base import Synopsis


@dataclass(slots=True)
class Highest(Synopsis, tag=101, version=1):
    """The highest value of a cell, exact; None where there is no value."""

    value: int | None = None

    def _merged(self, other: Highest) -> Highest:
        return Highest(max((one.value for one in (self, other) if one.value is not None), default=None))


@dataclass(frozen=True)
class HighestValue(Summary):
    """One row a cell: the key is the site itself."""

    reduced: Measure

    in_parts = True
    synopsis = Highest

    @property
    def keys(self) -> tuple[str, ...]:
        return ("site",)

    @property
    def measure(self) -> Measure:
        return self.reduced

    def build(self, cell: Cell, rows: Rows) -> Highest:
        return Highest(pc.max(rows.values).as_py())


class PeakParams(Keys):
    slack: Decimal = Field(default=Decimal(0), ge=0, description="how far the answer may be off, in the measure's unit")


class Peak(Question):
    """``|estimate - exact| <= slack``, always; no row while there is no value."""

    name, default_method, baseline, shape = "peak", "told", "every-change", "number"
    Params = PeakParams
    precision = "slack"

    def keys(self, params: PeakParams) -> Mapping[str, str]:
        return {"site": "site"}

    def faults(self, ask: Ask) -> Iterable[KeyFault]:
        if ask.measure.reduction != "max":
            yield KeyFault(("measure",), "is not the largest of a value", "write max(value)")

    def exact(self, ask: Ask) -> HighestValue:
        return HighestValue(ask.measure)

    def truth(self, ask: Ask) -> Truth:
        return PeakTruth(ask)

    def promise(self, ask: Ask) -> str:
        return f"within {ask.params.slack} (always)"

    def meaning(self, ask: Ask) -> str:
        return f"the highest value over all sites is at most {ask.params.slack} away from the number"


class PeakTruth(Truth):
    """Every value that was seen, by epoch and site: plainly another way than the sites' own."""

    def __init__(self, ask: Ask) -> None:
        self.ask, self.seen = ask, dict[tuple[int, str], int]()
        self.lasts = dict[str, int]()

    def observe(self, moment: Moment, node: str, arriving: Highest, expiring: Any) -> None:
        self.lasts[node] = moment.epoch
        if arriving.value is not None:
            self.seen[moment.epoch, node] = arriving.value

    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        window = self.ask.window
        counting = {node: window.members(last) for node, last in self.lasts.items()}
        values = [
            value for (epoch, node), value in self.seen.items()
            if epoch in counting[node] and window.period_of(epoch) == moment.period
        ]  # fmt: skip
        rows, allowed = list(answers), float(self.ask.params.slack)
        exact = max(values) / self.ask.scale if values else math.nan
        if not rows or not values:
            right, error = not rows and not values, math.inf if rows or values else 0.0
        else:
            [row] = rows
            error = abs(row.estimate - exact)
            right = row.low <= exact <= row.high and row.high - row.low <= 2 * allowed * (1 + 1e-9)
        return Verdicts.of([Verdict(COORDINATOR, moment.end, "", "highest value", exact, error, allowed, right)])
