"""The best, and those beyond a bound, of a map of names to whole numbers; ties go by name."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from heapq import nsmallest
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

NamedSums = list[tuple[str, int]]


class Sums(Protocol):
    """A dict or a tally."""

    def values(self) -> Collection[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...

    def __len__(self) -> int: ...


class Ranking:
    """Order statistics of a map that does not change meanwhile."""

    def __init__(self, sums: Sums) -> None:
        self._sums = sums

    def largest(self, count: int) -> NamedSums:
        """The `count` names of the largest numbers, best first."""
        return self._first(self._numbers, count)

    def smallest(self, count: int) -> NamedSums:
        """The `count` names of the smallest numbers, smallest first."""
        return self._first(-self._numbers, count)

    def furthest(self, count: int) -> NamedSums:
        """The `count` names of the numbers furthest from 0, furthest first."""
        return self._first(np.abs(self._numbers), count)

    def above(self, bound: int) -> NamedSums:
        """Every name whose number exceeds the bound, by name."""
        return self._where(self._numbers > bound)

    def beyond(self, bound: int) -> NamedSums:
        """Every name whose number is further than `bound` from 0, by name."""
        return self._where(np.abs(self._numbers) > bound)

    def top_numbers(self, count: int, sign: int = 1) -> list[int]:
        """The `count` largest of ``sign * number``, largest first."""
        scores = sign * self._numbers
        scores = scores[_promising(scores, count)]
        if count < len(scores):
            scores = np.partition(scores, len(scores) - count)[len(scores) - count :]
        found: list[int] = np.sort(scores)[::-1].tolist()
        return found

    @cached_property
    def _names(self) -> list[str]:
        return list(self._sums)

    @cached_property
    def _numbers(self) -> NDArray[Any]:
        """64-bit numbers; whole numbers of any size where those do not hold them."""
        numbers = self._sums.values()
        try:
            return np.fromiter(numbers, np.int64, len(numbers))
        except OverflowError:
            return np.array(list(numbers), object)

    def _first(self, scores: NDArray[Any], count: int) -> NamedSums:
        """The names of the `count` largest scores, with their numbers."""
        positions = _promising(scores, count)
        scores = scores[positions]
        names, ties = self._names, []
        if count < len(scores):
            nth = np.partition(scores, len(scores) - count)[len(scores) - count]
            tied = positions[scores == nth]
            positions, scores = positions[scores > nth], scores[scores > nth]
            ties = nsmallest(count - len(scores), ((names[at], at) for at in tied))
        ahead = sorted(zip((-scores).tolist(), (names[at] for at in positions), positions.tolist(), strict=True))
        ordered = [*((name, at) for _, name, at in ahead), *ties]
        return [(name, int(self._numbers[at])) for name, at in ordered]

    def _where(self, chosen: NDArray[np.bool_]) -> NamedSums:
        found = np.flatnonzero(chosen)
        if not len(found):
            return []
        names = self._names
        return sorted(zip((names[at] for at in found), self._numbers[found].tolist(), strict=True))


def _promising(scores: NDArray[Any], count: int) -> NDArray[np.intp]:
    """Positions that hold the `count` largest scores; few, if most scores are small, as counts of items are."""
    if len(scores) > 8 * count:
        found = np.flatnonzero(scores > 2 * (scores.sum() // len(scores)))
        if len(found) >= count:
            return found
    return np.arange(len(scores))
