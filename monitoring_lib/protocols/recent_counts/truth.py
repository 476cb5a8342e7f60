"""The exact answers, and whether what was published keeps its promise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from monitoring_lib.answers import Answer, Answers, Verdict, Verdicts
from monitoring_lib.methods import Ask, Moment, Truth
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.recent_counts.queries import Query
from monitoring_lib.tick_counts import TickCounts

_SLACK = 1 + 1e-9
"""For the rounding of products of doubles."""


class ExactRange:
    """All events of a range: each item with its number."""

    def __init__(self, parts: list[TickCounts]) -> None:
        table = pa.table(
            {
                "item": pa.chunked_array([part.names.column for part in parts], pa.string()),
                "count": pa.chunked_array([pa.array(part.counts) for part in parts], pa.int64()),
            }
        )
        grouped = table.group_by("item").aggregate([("count", "sum")])
        self.items = grouped["item"].combine_chunks()
        self.counts: NDArray[np.int64] = grouped["count_sum"].to_numpy()
        self.total = int(self.counts.sum())

    def count(self, item: str) -> int:
        at = pc.index(self.items, item).as_py()
        return int(self.counts[at]) if at >= 0 else 0

    def above(self, number: Fraction) -> list[str]:
        """Items that occurred more often than that."""
        names: list[str] = self.items.filter(pa.array(self.counts > math.floor(number))).to_pylist()
        return names

    def self_join(self) -> int:
        return sum(count * count for count in self.counts.tolist())

    def sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Items as numbers in order, and how many events lie at or below each."""
        numbers = self.items.cast(pa.int64()).to_numpy(zero_copy_only=False)
        order = np.argsort(numbers)
        return numbers[order], np.cumsum(self.counts[order])

    def up_to(self, number: float) -> int:
        """Events whose item is at most that."""
        numbers, below = self.sorted()
        at = int(np.searchsorted(numbers, number, side="right"))
        return int(below[at - 1]) if at else 0

    def quantile(self, share: Fraction) -> int:
        numbers, below = self.sorted()
        return int(numbers[int(np.searchsorted(below, math.ceil(share * self.total)))])


class RecentTruth(Truth):
    """Keeps every event of the last ticks, by site: a site that has left the roster counts no more."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.every: int = getattr(ask.options, "every", 1)
        self.kept: dict[str, list[TickCounts]] = {}
        self.sites_at: dict[int, tuple[str, ...]] = {}
        self._ranges: dict[int, ExactRange] = {}

    def observe(self, moment: Moment, node: str, arriving: TickCounts, expiring: Any) -> None:
        self._ranges.clear()
        self.sites_at[moment.end] = moment.sites
        for end in [end for end in self.sites_at if end < moment.end - self.every * self.ask.epoch]:
            del self.sites_at[end]
        oldest = (moment.epoch + 1 - self.every) * self.ask.ticks - self.ask.params.longest(self.ask)
        own = [part for part in self.kept.get(node, ()) if part.ticks[-1] >= oldest]
        self.kept[node] = [*own, arriving] if len(arriving) else own

    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        rows = list(answers)
        if not rows and self.every > 1:
            return Verdicts.of()  # when the last merge was cannot be told without a row
        end = max((row.tick for row in rows), default=moment.end)
        self._ranges.clear()
        sites = self.sites_at.get(end, moment.sites)
        last = (moment.epoch + 1) * self.ask.ticks - (moment.end - end) // self.ask.tick
        verdicts = [self._shape(moment, rows, end)]
        for query in self.ask.params.queries:
            span = query.ticks(self.ask)
            if span not in self._ranges:
                self._ranges[span] = ExactRange(self._of(sites, last - span, last))
            mine = [row for row in rows if row.key == query.name or row.key.startswith(f"{query.name}:")]
            verdicts += self._judged(moment, query, self._ranges[span], mine, end)
        return Verdicts.of(verdicts)

    def _of(self, sites: tuple[str, ...], first: int, end: int) -> list[TickCounts]:
        return [part.between(first, end) for site in sites for part in self.kept.get(site, ())]

    def _shape(self, moment: Moment, rows: list[Answer], end: int) -> Verdict:
        """All rows are of one merge that is not too long ago, belong to a query, and stand once."""
        late = moment.end - end
        keys = [row.key for row in rows]
        prefixes = tuple(f"{query.name}:" for query in self.ask.params.of_kind("heavy_hitters", "quantiles"))
        names = {query.name for query in self.ask.params.of_kind("point", "between", "self_join")}
        good = (
            0 <= late <= (self.every - 1) * self.ask.epoch
            and all(row.tick == end for row in rows)
            and len(set(keys)) == len(keys)
            and all(key in names or key.startswith(prefixes) for key in keys if prefixes or key not in names)
        )
        allowed = float((self.every - 1) * self.ask.epoch)
        return Verdict(COORDINATOR, moment.end, "", "rows are of the last merge", 0.0, float(late), allowed, good)

    def _judged(
        self, moment: Moment, query: Query, exact: ExactRange, rows: list[Answer], end: int
    ) -> Iterator[Verdict]:
        if query.heavy_hitters is not None:
            yield from self._heavy(moment, query, exact, rows, end)
            return
        if query.quantiles is not None:
            keys = [f"{query.name}:{share}" for share in query.quantiles]
            yield _whole(query, end, keys if exact.total else [], rows)
            for row in rows:
                yield from self._quantile(query, exact, row)
            return
        yield _whole(query, end, [query.name], rows)
        for row in rows:
            number, unit = self._number(query, exact)
            yield from self._numbers(row, number, self.ask.params.error * unit)

    def _number(self, query: Query, exact: ExactRange) -> tuple[int, int]:
        """The exact number, and what the allowed error is a share of."""
        if query.point is not None:
            return exact.count(query.point), exact.total
        if query.between is not None:
            return exact.up_to(query.between[1]) - exact.up_to(query.between[0] - 1), exact.total
        return exact.self_join(), exact.total**2

    def _numbers(self, row: Answer, number: int, allowed: float) -> Iterator[Verdict]:
        error = abs(row.estimate - number)
        inside = row.low <= number <= row.high and row.low <= row.estimate <= row.high
        yield _verdict(row, "exact number in low..high", number, error, row.high - row.low, inside)
        if not _is_open(row):
            yield _verdict(row, "within error", number, error, allowed, error <= allowed * _SLACK)

    def _heavy(
        self, moment: Moment, query: Query, exact: ExactRange, rows: list[Answer], end: int
    ) -> Iterator[Verdict]:
        """A partial answer, or none while a site is missing, may lack an item that only the missing site can name."""
        assert query.heavy_hitters is not None
        share, total, error = query.heavy_hitters, exact.total, self.ask.params.error
        items = {row.key.removeprefix(f"{query.name}:"): row for row in rows}
        ranks = [row.rank for row in sorted(rows, key=lambda row: (-row.estimate, row.key))]
        ordered = ranks == list(range(1, len(rows) + 1)) and (total > 0 or not rows or rows[0].partial)
        partial = any(row.partial for row in rows) or (not rows and bool(moment.missing or moment.owed))
        missed = [] if partial else [item for item in exact.above(Fraction(str(share)) * total) if item not in items]
        sure = 1.0 if getattr(self.ask.options, "counter", "") != "rw" else self.ask.confidence
        least = share * total
        yield Verdict(COORDINATOR, end, query.name, "ranked by estimate", least, 0.0, 0.0, ordered)
        most = max((exact.count(item) for item in missed), default=0)
        yield Verdict(
            COORDINATOR, end, query.name, "no heavy hitter is missing", least, float(most), least, not missed, sure
        )
        for item, row in items.items():
            number = exact.count(item)
            yield from self._numbers(row, number, error * total)
            if not _is_open(row):
                floor = (share - 2 * error) * total
                yield _verdict(row, "not far below the share", number, floor, floor, number * _SLACK >= floor)

    def _quantile(self, query: Query, exact: ExactRange, row: Answer) -> Iterator[Verdict]:
        if not exact.total:
            return  # the row should not be there, and has been judged so
        share = Fraction(row.key.removeprefix(f"{query.name}:"))
        number, error = exact.quantile(share), Fraction(str(self.ask.params.error))
        inside = row.low <= number <= row.high and row.low <= row.estimate <= row.high
        yield _verdict(
            row, "exact quantile in low..high", number, abs(row.estimate - number), row.high - row.low, inside
        )
        below, up_to = (Fraction(exact.up_to(row.estimate - less), exact.total) for less in (1, 0))
        distance = max(below - share, share - up_to, Fraction(0))
        if not (row.partial and row.high == (1 << self.ask.params.bits) - 1):
            yield _verdict(row, "rank within error", number, float(distance), float(error), distance <= error)


def _whole(query: Query, end: int, expected: list[str], rows: list[Answer]) -> Verdict:
    found = [row.key for row in rows]
    good = sorted(found) == sorted(expected) and all(row.rank is None for row in rows)
    return Verdict(COORDINATOR, end, query.name, "every row is there", len(expected), len(found), len(expected), good)


def _is_open(row: Answer) -> bool:
    """Whether the row lacks events that cannot be bounded: then only its lower end is promised."""
    return row.partial and row.high == math.inf


def _verdict(row: Answer, promise: str, exact: float, error: float, allowed: float, kept: bool) -> Verdict:
    return Verdict(
        row.node, row.tick, row.key, promise, float(exact), float(error), float(allowed), kept, row.confidence
    )
