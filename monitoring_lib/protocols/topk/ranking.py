"""The best, and those beyond a bound, of a map of names to whole numbers; ties go by name."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from heapq import nsmallest
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Sums(Protocol):
    """A dict or a tally."""

    def values(self) -> Collection[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...

    def __len__(self) -> int: ...


def largest(sums: Sums, count: int) -> list[tuple[str, int]]:
    """The `count` names of the largest numbers, best first."""
    return _first(sums, _column(sums.values()), count, 1)


def smallest(sums: Sums, count: int) -> list[tuple[str, int]]:
    """The `count` names of the smallest numbers, smallest first."""
    return _first(sums, -_column(sums.values()), count, -1)


def furthest(sums: Sums, count: int) -> list[tuple[str, int]]:
    """The `count` names of the numbers furthest from 0, with their numbers, furthest first."""
    column = _column(sums.values())
    sizes = np.abs(column)
    names = list(sums)
    chosen = [(names[at], int(column[at])) for at in _at_least_the_nth(sizes, count)]
    return nsmallest(count, chosen, key=lambda pair: (-abs(pair[1]), pair[0]))


def above(sums: Sums, bound: int) -> list[tuple[str, int]]:
    """Every name whose number exceeds the bound, by name."""
    return _where(sums, lambda column: column > bound)


def beyond(sums: Sums, bound: int) -> list[tuple[str, int]]:
    """Every name whose number is further than `bound` from 0, by name."""
    return _where(sums, lambda column: np.abs(column) > bound)


def top_numbers(sums: Sums, count: int, sign: int) -> list[int]:
    """The `count` largest of ``sign * number``, largest first."""
    column = sign * _column(sums.values())
    if count < len(column):
        column = np.partition(column, len(column) - count)[len(column) - count :]
    found: list[int] = np.sort(column)[::-1].tolist()
    return found


def _where(sums: Sums, test: Any) -> list[tuple[str, int]]:
    column = _column(sums.values())
    found = np.flatnonzero(test(column))
    if not len(found):
        return []
    names = list(sums)
    return sorted((names[at], int(column[at])) for at in found)


def _first(sums: Sums, column: NDArray[Any], count: int, sign: int) -> list[tuple[str, int]]:
    names = list(sums)
    if count >= len(names):
        return [(name, -sign * v) for v, name in sorted(zip((-column).tolist(), names, strict=True))]
    nth = np.partition(column, len(names) - count)[len(names) - count]
    ahead = sorted((-int(column[at]), names[at]) for at in np.flatnonzero(column > nth))
    ties = nsmallest(count - len(ahead), (names[at] for at in np.flatnonzero(column == nth)))
    return [(name, -sign * negated) for negated, name in [*ahead, *((-int(nth), name) for name in ties)]]


def _at_least_the_nth(column: NDArray[Any], count: int) -> NDArray[np.intp]:
    """Where the column is at least as large as its `count`-th largest number."""
    if count >= len(column):
        return np.arange(len(column))
    nth = np.partition(column, len(column) - count)[len(column) - count]
    return np.flatnonzero(column >= nth)


def _column(numbers: Collection[int]) -> NDArray[Any]:
    """64-bit numbers; whole numbers of any size where those do not hold them."""
    try:
        column = np.fromiter(numbers, np.int64, len(numbers))
    except OverflowError:
        return np.array(list(numbers), object)
    return column
