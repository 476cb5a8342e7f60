"""The second toy's question: the running sum over all sites at each busy tick, and how many were busy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from monitoring_lib.answers import Answers, Verdict, Verdicts
from monitoring_lib.codec import Ints
from monitoring_lib.methods import Ask, Keys, Moment, Question, Truth
from monitoring_lib.summaries import Cell, Measure, Rows, Summary
from monitoring_lib.synopses.base import Synopsis

BUSY = "busy ticks"
CELLS = 256


def none() -> Any:
    return np.empty(0, np.int64)


def summed(ticks: Any, sums: Any) -> tuple[Any, Any]:
    """The ticks in order, each once, with its sum."""
    kept, places = np.unique(ticks, return_inverse=True)
    totals = np.zeros(len(kept), np.int64)
    np.add.at(totals, places, sums)
    return kept.astype(np.int64), totals


@dataclass(slots=True)
class TickSums(Synopsis, tag=200, version=1):
    """Tick to sum, exact."""

    ticks: Ints = field(default_factory=none)
    sums: Ints = field(default_factory=none)

    def _merged(self, other: TickSums) -> TickSums:
        ticks, sums = np.concatenate([self.ticks, other.ticks]), np.concatenate([self.sums, other.sums])
        return TickSums(*summed(ticks, sums))


def leaving_at(start: int, expiring: TickSums) -> TickSums:
    """What leaves the window, as one change at the epoch's start."""
    return TickSums(np.array([start]), np.array([-int(expiring.sums.sum())]))


@dataclass(frozen=True)
class SumsByTick(Summary):
    """Times are those of a tick's end."""

    synopsis = TickSums

    @property
    def keys(self) -> tuple[str, ...]:
        return ("tick",)

    @property
    def measure(self) -> Measure:
        return Measure("sum", "value")

    def build(self, cell: Cell, rows: Rows) -> TickSums:
        within = rows.keys["tick"].to_numpy() - cell.first_tick
        return TickSums(cell.start + (within + 1) * cell.tick, rows.values.to_numpy())


class RunningSum(Question):
    """``estimate == exact`` at every busy tick and at the epoch's end; how many, probably within bounds."""

    name = "running-sum"
    Params = Keys
    default_method = "summing-tree"
    baseline = "summing-tree"
    shape = "series"

    def exact(self, ask: Ask) -> SumsByTick:
        return SumsByTick()

    def truth(self, ask: Ask) -> Truth:
        return RunningTruth()

    def promise(self, ask: Ask) -> str:
        return "exact at every tick (always)"

    def meaning(self, ask: Ask) -> str:
        return "the sum over all sites, at every tick at which something happened"


class RunningTruth(Truth):
    def __init__(self) -> None:
        self.period, self.epoch, self.base = 0, -1, 0
        self.changes = TickSums()
        self.busy: set[int] = set()

    def observe(self, moment: Moment, node: str, arriving: TickSums, expiring: TickSums) -> None:
        self._enter(moment)
        self.changes = self.changes.merge(arriving)
        if len(expiring.ticks):
            self.changes = self.changes.merge(leaving_at(moment.start, expiring))
        self.busy |= set(arriving.ticks.tolist())

    def _enter(self, moment: Moment) -> None:
        if self.epoch != moment.epoch:
            self.epoch, self.base = moment.epoch, self.base + int(self.changes.sums.sum())
            self.changes = TickSums()
        if self.period != moment.period:
            self.period, self.base, self.busy = moment.period, 0, set()

    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        self._enter(moment)
        totals = self.base + np.cumsum(self.changes.sums)
        exact = dict(zip(self.changes.ticks.tolist(), totals.tolist(), strict=True))
        exact[moment.end] = self.base + int(self.changes.sums.sum())
        rows = {row.tick: row for row in answers if row.key == ""}
        verdicts = [
            Verdict(
                row.node, row.tick, row.key, "busy ticks, probably", len(self.busy),
                abs(row.estimate - len(self.busy)), row.high - row.low, row.low <= len(self.busy) <= row.high,
                row.confidence,
            )
            for row in answers if row.key == BUSY
        ]  # fmt: skip
        for tick in (exact.keys() - {moment.start}) | rows.keys():  # what leaves may leave later
            row, truth = rows.get(tick), self.base + int(self.changes.sums[self.changes.ticks <= tick].sum())
            kept = row is not None and row.low == row.high == truth
            error = abs(row.estimate - truth) if row is not None else np.inf
            verdicts.append(Verdict("@coordinator", tick, "", "running sum", truth, error, 0, kept))
        return Verdicts.of(sorted(verdicts, key=lambda verdict: (verdict.tick, verdict.key)))
