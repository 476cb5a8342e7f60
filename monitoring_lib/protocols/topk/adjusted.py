"""Adjusted sums at a site: sum plus factor, in units, and their order statistics.

For the smallest, sums are taken negative, so that a better object always has the larger adjusted sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from monitoring_lib.protocols.topk.ranking import Ranking
from monitoring_lib.tally import Tally

UNIT = 1024
"""Units of adjusted sums, factors, borders and levels in one of the scaled measure."""


class Adjusted:
    """A look at a site's sums and factors. Objects without a factor are most; those are searched by columns."""

    def __init__(
        self,
        sums: Tally,
        factors: Tally,
        members: Sequence[str],
        negated: bool,
        elsewhere: Iterable[str] = (),
    ) -> None:
        self._sums = sums
        self._ranking = Ranking(sums)
        self._factors = factors
        self._members = members
        self._inside = set(members)
        self._negated = negated
        self._elsewhere = elsewhere
        self._unit = -UNIT if negated else UNIT

    def of(self, name: str) -> int:
        adjusted: int = self._sums.get(name) * self._unit + self._factors.get(name)
        return adjusted

    def lowest_member(self) -> int | None:
        return min((self.of(name) for name in self._members), default=None)

    def outsiders_above(self, level: int) -> list[str]:
        """By name; the nameless object is not among them."""
        if self._negated:
            plain = [name for name, score in self._negated_plain() if score > level]
        else:
            plain = [name for name, _ in self._ranking.above(level // UNIT)]
        found = [name for name in plain if name not in self._factors and name not in self._inside]
        for name, factor in self._factors.items():
            if name not in self._inside and self._sums.get(name) * self._unit + factor > level:
                found.append(name)
        return sorted(found)

    def best_outsiders(self, count: int) -> list[str]:
        """The `count` outsiders of the largest adjusted sums, by name; if there is a nameless one, only above it."""
        apart = {*self._factors, *self._inside}
        found = (self._ranking.smallest if self._negated else self._ranking.largest)(count + len(apart))
        scored = [(-value * self._unit, name) for name, value in found if name not in apart]
        scored += [(-self.of(name), name) for name in self._factors if name not in self._inside]
        return sorted(name for score, name in sorted(scored)[:count] if score < 0 or self._negated)

    def border(self, asked: set[str], nothing: int = 0) -> int:
        """The largest adjusted sum of all outsiders not asked for, the nameless included.

        Where all names are known there is no nameless object, and the border is at most the lowest member's:
        the form printed in the paper; `nothing`, where there is neither.
        """
        apart = asked | self._inside
        sums, unit = self._sums, self._unit
        factored: list[int] = [
            sums.get(name) * unit + factor for name, factor in self._factors.items() if name not in apart
        ]
        if not self._negated:
            return max(0, self._largest_plain(apart | set(self._factors)) * UNIT, *factored)
        plain = [score for name, score in self._negated_plain() if name not in apart and name not in self._factors]
        highest = max((*plain, *factored), default=None)
        lowest = self.lowest_member()
        return min((level for level in (highest, lowest) if level is not None), default=nothing)

    def _negated_plain(self) -> Iterator[tuple[str, int]]:
        """Every known item with its negated sum; one that only others have seen has the sum 0."""
        yield from ((name, -value * UNIT) for name, value in self._sums.items())
        yield from ((name, 0) for name in self._elsewhere)

    def _largest_plain(self, apart: set[str]) -> int:
        """The largest sum but for those of some names: the largest sums, the named ones' struck out once each."""
        own = Counter(self._sums.get(name) for name in apart if name in self._sums)
        for value in self._ranking.top_numbers(sum(own.values()) + 1):
            if own[value] == 0:
                return value
            own[value] -= 1
        return 0
