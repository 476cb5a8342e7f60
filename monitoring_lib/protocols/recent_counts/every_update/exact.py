"""Exact counts of the ticks that are still in the window, asked like sketches are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from itertools import accumulate

from monitoring_lib.protocols.recent_counts.rows import BoundedEstimate, Recent
from monitoring_lib.tick_counts import TickCounts


class ExactView(Recent):
    """All events before the tick `end`."""

    def __init__(self, held: Iterable[TickCounts], end: int) -> None:
        self.held, self.end = list(held), end
        self._known: dict[int, Counter[str]] = {}

    def _counts(self, span: int) -> Counter[str]:
        if span not in self._known:
            counts = self._known[span] = Counter()
            for part in self.held:
                inside = part.between(self.end - span, self.end)
                for item, count in zip(inside.names.tolist(), inside.counts.tolist(), strict=True):
                    counts[item] += count
        return self._known[span]

    def events(self, span: int) -> BoundedEstimate:
        return _sure(self._counts(span).total())

    def point(self, item: str, span: int) -> BoundedEstimate:
        return _sure(self._counts(span)[item])

    def self_join(self, span: int) -> BoundedEstimate:
        return _sure(sum(count**2 for count in self._counts(span).values()))

    def between(self, first: int, last: int, span: int) -> BoundedEstimate:
        return _sure(sum(count for item, count in self._counts(span).items() if first <= int(item) <= last))

    def quantile(self, share: float, span: int) -> BoundedEstimate | None:
        counts = self._counts(span)
        wanted = Fraction(str(share)) * counts.total()
        numbers = sorted(counts, key=int)
        below = accumulate(counts[item] for item in numbers)
        return next((_sure(int(item)) for item, up_to in zip(numbers, below, strict=True) if up_to >= wanted), None)

    def heavy_hitters(self, share: float, span: int) -> dict[str, BoundedEstimate]:
        counts = self._counts(span)
        least = Fraction(str(share)) * counts.total()
        return {item: _sure(count) for item, count in counts.items() if count > least}


def _sure(number: int) -> BoundedEstimate:
    return BoundedEstimate(number, number, number)
