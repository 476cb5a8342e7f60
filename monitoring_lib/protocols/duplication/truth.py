"""The exact answer, kept from all events, and the judge."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

import pyarrow as pa

from monitoring_lib.answers import Answer, Answers, Verdict, Verdicts
from monitoring_lib.expressions import Values, holds, parse_condition
from monitoring_lib.methods import Ask, Moment, Truth
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.duplication.intervals import widest
from monitoring_lib.synopses.counts import Counts


class DuplicationTruth(Truth):
    """The count of every item, how many items have each count, and how many satisfy each condition."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.period = 0
        self.counts: dict[str, int] = {}
        self.items_with: Counter[int] = Counter()
        self.satisfying: Counter[str] = Counter()
        self._conditions = {name: parse_condition(text) for name, text in ask.params.ask.shares.items()}

    def observe(self, moment: Moment, node: str, arriving: Counts, expiring: Counts) -> None:
        self._enter(moment)
        new: list[str] = []
        for name, value in arriving:
            before = self.counts.get(name, 0)
            self.counts[name] = before + value
            self.items_with[before + value] += 1
            if before:
                self.items_with[before] -= 1
            else:
                new.append(name)
        for share, condition in self._conditions.items() if new else ():
            found = holds(condition, {"item": Values(pa.array(new, pa.string()))}, len(new))
            self.satisfying[share] += found.to_pylist().count(True)

    def _enter(self, moment: Moment) -> None:
        if self.period != moment.period:
            self.period = moment.period
            self.counts.clear()
            self.items_with.clear()
            self.satisfying.clear()

    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        self._enter(moment)
        rows = list(answers)
        spectrum = _Spectrum(self.items_with)
        exact = self._exact(spectrum)
        verdicts = [self._complete(moment, rows, exact)]
        for row in rows:
            if row.key in exact:
                verdicts += self._row(row, exact[row.key], spectrum, rows)
        return Verdicts.of(verdicts)

    def _exact(self, spectrum: _Spectrum) -> dict[str, Fraction]:
        asked, different = self.ask.params.ask, len(self.counts)
        if not different:
            return {}
        found: dict[str, Fraction] = {}
        if asked.distinct:
            found["distinct"] = Fraction(different)
        if asked.once:
            found["once"] = Fraction(self.items_with[1])
        for quantile in asked.quantiles:
            found[f"q{quantile}"] = Fraction(spectrum.quantile(quantile))
        for share in asked.shares:
            found[f"share:{share}"] = Fraction(self.satisfying[share], different)
        return found

    def _complete(self, moment: Moment, rows: Sequence[Answer], exact: dict[str, Fraction]) -> Verdict:
        """All rows that are asked for, once each. A sample that cannot hold all items may turn out empty."""
        missing = set(exact) ^ {row.key for row in rows}
        shaped = all((row.rank, row.tick, row.node) == (None, moment.end, COORDINATOR) for row in rows)
        kept = not missing and len(rows) == len(exact) and shaped
        sure = bool(rows) or len(self.counts) <= self.ask.params.sample
        return Verdict(
            COORDINATOR, moment.end, "", "rows as asked", len(exact), len(missing), 0, kept,
            1.0 if sure else self.ask.confidence,
        )  # fmt: skip

    def _row(self, row: Answer, exact: Fraction, spectrum: _Spectrum, rows: Sequence[Answer]) -> list[Verdict]:
        inside = row.low <= float(exact) <= row.high and row.low <= row.estimate <= row.high
        error, reach = abs(row.estimate - float(exact)), max(row.high - row.estimate, row.estimate - row.low)
        verdicts = [
            Verdict(
                row.node, row.tick, row.key, "within bounds", float(exact), error, reach, inside, row.confidence
            )
        ]  # fmt: skip
        allowed = widest(self.ask.params.sample, self.ask.confidence)
        if row.key.startswith("q"):
            width, confidence = self._rank_width(row, spectrum), row.confidence
        elif row.key.startswith("share:"):
            width, confidence = row.high - row.low, 1.0
        else:
            different = next((other.estimate for other in rows if other.key == "distinct"), None)
            width = (row.high - row.low) / max(len(self.counts) if different is None else different, 1)
            confidence = row.confidence if different is None else 1.0
        kept = width <= allowed * (1 + 1e-9)
        verdicts.append(
            Verdict(row.node, row.tick, row.key, "no wider than", float(exact), width, allowed, kept, confidence)
        )
        return verdicts

    def _rank_width(self, row: Answer, spectrum: _Spectrum) -> float:
        """The share of items whose count lies between the bounds, even if each had been told without lag."""
        grown = 1 + Fraction(self.ask.params.lag)
        below = Fraction(1) if math.isinf(row.high) else spectrum.share_below(Fraction(row.high) / grown)
        return float(below - spectrum.share_up_to(Fraction(row.low) * grown))


class _Spectrum:
    """How many items have each count, in order of the counts."""

    def __init__(self, items_with: Counter[int]) -> None:
        present = sorted((count, items) for count, items in items_with.items() if items)
        self.counts: list[Any] = [count for count, _ in present]
        self.up_to = list(accumulate(items for _, items in present))

    def quantile(self, share: float) -> int:
        """The smallest count that at least this share of the items does not exceed."""
        wanted = Fraction(str(share)) * self.up_to[-1]
        return int(self.counts[bisect_left(self.up_to, wanted)])

    def share_below(self, count: Fraction) -> Fraction:
        at = bisect_left(self.counts, count)
        return Fraction(self.up_to[at - 1] if at else 0, self.up_to[-1])

    def share_up_to(self, count: Fraction) -> Fraction:
        return self.share_below(Fraction(math.floor(count)) + 1)
