"""Keys of ticks: how often did an item occur in the last ticks, of a window that slides by time alone?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pydantic import Field

from monitoring_lib.answers import Answers, Verdicts
from monitoring_lib.codec import Ints
from monitoring_lib.methods import Ask, Keys, Moment, Truth
from monitoring_lib.summaries import Cell, Rows, Summary
from monitoring_lib.synopses.base import Synopsis
from tests.laws.toys.plain import PlainQuestion, judge_number


@dataclass(slots=True)
class ItemsOfTicks(Synopsis, tag=203, version=1):
    """A row for each tick and item, in the order of ticks."""

    ticks: Ints
    items: list[str]
    counts: Ints

    def _merged(self, other: ItemsOfTicks) -> ItemsOfTicks:
        ticks, counts = np.concatenate([self.ticks, other.ticks]), np.concatenate([self.counts, other.counts])
        return ItemsOfTicks(ticks, [*self.items, *other.items], counts)


@dataclass(frozen=True)
class TickCounts(Summary):
    synopsis = ItemsOfTicks

    @property
    def keys(self) -> tuple[str, ...]:
        return ("tick", "item")

    def build(self, cell: Cell, rows: Rows) -> ItemsOfTicks:
        return ItemsOfTicks(rows.keys["tick"].to_numpy(), rows.keys["item"].to_pylist(), rows.values.to_numpy())


class RecentParams(Keys):
    watched: str = Field(description="the item")
    range: int = Field(gt=0, description="how many ticks back from the end of the epoch")


class RecentCount(PlainQuestion):
    """How often the item occurred in the last ticks."""

    name, default_method, baseline, shape = "recent-count", "sketched-ranges", "sketched-ranges", "number"
    Params, windows, promised = RecentParams, frozenset(("sliding",)), "within bounds (with confidence)"

    def exact(self, ask: Ask) -> TickCounts:
        return TickCounts()

    def truth(self, ask: Ask) -> Truth:
        return RecentTruth(ask)


class RecentTruth(Truth):
    """A site that is missing counts as when it last observed."""

    def __init__(self, ask: Ask) -> None:
        self.ask, self.found, self.seen = ask, dict[str, dict[int, int]](), dict[str, int]()

    def observe(self, moment: Moment, node: str, arriving: ItemsOfTicks, expiring: ItemsOfTicks) -> None:
        self.seen[node], own = (moment.epoch + 1) * self.ask.ticks, self.found.setdefault(node, {})
        for tick, item, count in zip(arriving.ticks.tolist(), arriving.items, arriving.counts.tolist(), strict=True):
            own[tick] = own.get(tick, 0) + (count if item == self.ask.params.watched else 0)

    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        exact = sum(
            count for node, own in self.found.items() for tick, count in own.items()
            if self.seen[node] - self.ask.params.range <= tick
        )  # fmt: skip
        return judge_number(moment, answers, "occurrences", exact)
