"""The exact decayed counts of all items, and whether an answer keeps what the question promises."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from monitoring_lib.answers import Answers, Verdict, Verdicts
from monitoring_lib.methods import Ask, Moment, Truth
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.frequent_items.wide import Wide
from monitoring_lib.synopses.counts import Counts

SLACK = Fraction(1, 10**9)
"""Share of the total by which widths, and items below the border, may be off: nodes compute in doubles.

That an exact count lies in ``low..high``, and that no frequent item is missing, is judged without any slack.
"""
_FADED, _VANISHED = 1e-290, 1e-300
"""Totals between these may be published or not: a node whose numbers get so small starts anew."""
_FORGOTTEN = 2.0**-150
"""An item below this share of the total is no longer looked at, in either direction."""


class FrequentTruth(Truth):
    """Counts of every item since the last reset, decayed epoch by epoch; what a missing site counted is not in it."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.support, self.error, self.decay = (
            Fraction(share) for share in (ask.params.support, ask.params.error, ask.params.decay)
        )
        self._clear()
        self._period, self._epoch = 0, -1

    def _clear(self) -> None:
        self.names: pa.StringArray = pa.array([], pa.string())
        self.counts = Wide.of_whole(np.empty(0, np.int64))
        self.total = Wide.of_whole(np.zeros(1, np.int64))
        self._pending: list[Counts] = []

    def observe(self, moment: Moment, node: str, arriving: Counts, expiring: Counts) -> None:
        self._enter(moment)
        if len(arriving):
            self._pending.append(arriving)

    def _enter(self, moment: Moment) -> None:
        if self._period != moment.period:
            self._clear()
        elif self._epoch < moment.epoch:
            self._fold()
            if self.decay != 1:
                for _ in range(self._epoch, moment.epoch):
                    self.counts, self.total = self.counts.times(self.decay), self.total.times(self.decay)
                self._forget()
        self._period, self._epoch = moment.period, max(moment.epoch, self._epoch)

    def _fold(self) -> None:
        """Adds what the epoch's sites have counted."""
        if not self._pending:
            return
        new = Counts.merge_all(self._pending)
        self._pending = []
        known = pc.index_in(new.names.column, value_set=self.names)
        unknown = new.names.column.filter(pc.is_null(known))
        at = np.array(known.fill_null(-1))
        at[at < 0] = len(self.names) + np.arange(len(unknown))
        added = np.zeros(len(self.names) + len(unknown), np.int64)
        added[at] = new.sums
        zeros = np.zeros(len(unknown))
        before = Wide(np.concatenate([self.counts.high, zeros]), np.concatenate([self.counts.low, zeros]))
        self.names = pa.concat_arrays([self.names, unknown])
        self.counts = before + Wide.of_whole(added)
        self.total = self.total + _whole(sum(new.sums.tolist()))  # which may need more than 64 bits

    def _forget(self) -> None:
        if self.total.high[0] < _VANISHED:
            self._clear()
        kept = self.counts.high > _FORGOTTEN * self.total.high[0]
        if not kept.all():
            self.names = self.names.filter(pa.array(kept))
            self.counts = self.counts.take(np.flatnonzero(kept))

    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        self._enter(moment)
        self._fold()
        ranked = pc.is_valid(answers.table["rank"])
        items, totals = Answers(answers.table.filter(ranked)), Answers(answers.table.filter(pc.invert(ranked)))
        exact = self._exact_counts(items)
        return Verdicts.concat(
            [
                self._judge_list(moment, items, exact),
                self._judge_total(moment, totals),
                self._judge_counts(items, exact),
            ]
        )

    def _exact_counts(self, items: Answers) -> Wide:
        at = np.array(pc.index_in(items.table["key"].combine_chunks(), value_set=self.names).fill_null(-1))
        found = self.counts.take(np.maximum(at, 0)) if len(self.counts) else Wide(np.zeros(len(at)), np.zeros(len(at)))
        return Wide(np.where(at >= 0, found.high, 0.0), np.where(at >= 0, found.low, 0.0))

    def _judge_list(self, moment: Moment, items: Answers, exact: Wide) -> Verdicts:
        """No frequent item is missing, none too rare is listed; ranks go by estimate and no item is there twice."""
        total = self.total.exact(0)
        border, floor = self.support * total, (self.support - self.error - SLACK) * total
        near: NDArray[np.intp] = np.flatnonzero(self.counts.high >= float(border) * (1 - 1e-12))
        listed = np.array(pc.is_in(self.names.take(pa.array(near)), value_set=items.table["key"].combine_chunks()))
        faded = bool(self.total.high[0] < _FADED)
        missing = max((self.counts.exact(int(at)) - border for at in near[~listed]), default=Fraction(0))
        below = np.flatnonzero(exact.high < float(floor) * (1 + 1e-12))
        rare = max((floor - exact.exact(int(at)) for at in below), default=Fraction(0))
        estimates, ranks = items.table["estimate"].to_numpy(), items.column("rank")
        ordered = (
            ranks == list(range(1, len(ranks) + 1))
            and bool((np.diff(estimates) <= 0).all())
            and len(set(items.column("key"))) == len(items)
        )
        worst, scale = max(missing, rare, Fraction(0)), self.ask.scale
        verdict = Verdict(
            COORDINATOR, moment.end, "", "frequent items listed", float(border / scale), float(worst / scale), 0.0,
            ordered and (faded or worst <= 0),
        )  # fmt: skip
        return Verdicts.of([verdict])

    def _judge_total(self, moment: Moment, rows: Answers) -> Verdicts:
        scale, exact = self.ask.scale, float(self.total.high[0])
        verdicts = []
        for row in rows:
            one_row = row.key == "" and len(rows) == 1 and row.estimate > 0
            width = Fraction(row.high) - Fraction(row.low) <= SLACK * self.total.exact(0) / scale
            kept = bool(_within(self.total, np.array([row.low]), np.array([row.high]), scale)[0])
            verdicts.append(
                Verdict(row.node, row.tick, "", "total within bounds", exact / scale, abs(row.estimate - exact / scale),
                        row.high - row.low, kept and one_row and width)
            )  # fmt: skip
        if not len(rows) and exact > 0:
            verdicts.append(
                Verdict(COORDINATOR, moment.end, "", "total within bounds", exact / scale, exact / scale, 0.0,
                        exact < _FADED)
            )  # fmt: skip
        return Verdicts.of(verdicts)

    def _judge_counts(self, items: Answers, exact: Wide) -> Verdicts:
        scale = self.ask.scale
        estimate, low, high = (items.table[name].to_numpy() for name in ("estimate", "low", "high"))
        allowed = float((self.error + SLACK) * self.total.exact(0) / scale)
        kept = _within(exact, low, high, scale) & (low <= estimate) & (estimate <= high) & (high - low <= allowed)
        true = exact.high / scale
        return Verdicts.columns(
            len(items),
            {
                "node": items.table["node"].combine_chunks(), "tick": items.table["tick"].combine_chunks(),
                "key": items.table["key"].combine_chunks(), "promise": "count within bounds", "exact": true,
                "error": np.abs(estimate - true), "allowed": np.maximum(high - estimate, estimate - low), "kept": kept,
            },
        )  # fmt: skip


def _within(exact: Wide, low: NDArray[np.float64], high: NDArray[np.float64], scale: int) -> NDArray[np.bool_]:
    """Whether ``low <= exact / scale <= high``; a quotient of whole numbers is published as its nearest double."""
    if scale == 1:
        return exact.at_least(low) & exact.at_most(high)
    true = exact.high / scale
    nearly = 2.0**-51 * true
    within: NDArray[np.bool_] = (low <= true + nearly) & (true - nearly <= high)
    return within


def _whole(number: int) -> Wide:
    high = float(number)
    return Wide(np.array([high]), np.array([float(number - int(high))]))
