"""Readings with nulls: the mean over all objects of their last (or mean) reading in a tick, a series over ticks.

An object lives at one site. A tick without a reading has no row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from monitoring_lib.answers import Answers, Verdict, Verdicts
from monitoring_lib.codec import Ints
from monitoring_lib.methods import Ask, Moment, Truth
from monitoring_lib.network import COORDINATOR
from monitoring_lib.summaries import Cell, Measure, Rows, Summary
from monitoring_lib.synopses.base import Synopsis
from tests.laws.toys.plain import PlainQuestion, judge_row


def end_of(ask: Ask, moment: Moment, tick: int) -> int:
    """The time at which a tick of the epoch ends."""
    return moment.start + (tick - moment.epoch * ask.ticks + 1) * ask.tick


@dataclass(slots=True)
class ReadingsOfTicks(Synopsis, tag=202, version=1):
    """A row for each tick and object: `values` in steps of the scale."""

    ticks: Ints
    objects: list[str]
    values: Ints


@dataclass(frozen=True)
class Readings(Summary):
    reduced: Measure
    synopsis = ReadingsOfTicks

    @property
    def keys(self) -> tuple[str, ...]:
        return ("tick", "item")

    @property
    def measure(self) -> Measure:
        return self.reduced

    def build(self, cell: Cell, rows: Rows) -> ReadingsOfTicks:
        return ReadingsOfTicks(rows.keys["tick"].to_numpy(), rows.keys["item"].to_pylist(), rows.values.to_numpy())


class MeanReading(PlainQuestion):
    """The mean over all objects at every tick of the epoch."""

    name, default_method, baseline, shape = "mean-reading", "adding-up", "adding-up", "series"
    windows = frozenset(("sliding",))

    def exact(self, ask: Ask) -> Readings:
        return Readings(ask.measure)

    def truth(self, ask: Ask) -> Truth:
        return MeanTruth(ask)


class MeanTruth(Truth):
    def __init__(self, ask: Ask) -> None:
        self.ask, self.readings = ask, dict[int, dict[int, list[int]]]()

    def observe(self, moment: Moment, node: str, arriving: ReadingsOfTicks, expiring: ReadingsOfTicks) -> None:
        readings = self.readings.setdefault(moment.epoch, {})
        for tick, value in zip(arriving.ticks.tolist(), arriving.values.tolist(), strict=True):
            readings.setdefault(end_of(self.ask, moment, tick), []).append(value)

    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        readings = self.readings.get(moment.epoch, {})
        exact = {tick: sum(values) / (len(values) * self.ask.scale) for tick, values in readings.items()}
        rows = {row.tick: row for row in answers}
        lost = [
            Verdict(COORDINATOR, at, "", "mean", exact[at], math.inf, 0, False) for at in exact.keys() - rows.keys()
        ]
        return Verdicts.of([*lost, *(judge_row(row, "mean", exact.get(at, math.nan)) for at, row in rows.items())])
