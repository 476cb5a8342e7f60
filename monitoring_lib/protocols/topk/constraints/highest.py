"""Numbers above 0 by name, the largest of them at hand."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from heapq import heapify, heappop, heappush


class Highest:
    """A map of names to whole numbers that holds only those above 0.

    The heap may hold numbers that have been replaced since; those are dropped when they come to the top.
    """

    def __init__(self, pairs: Iterable[tuple[str, int]]) -> None:
        self._numbers = {name: number for name, number in pairs if number > 0}
        self._heap: list[tuple[int, str]] = []
        self._order()

    def _order(self) -> None:
        self._heap = [(-number, name) for name, number in self._numbers.items()]
        heapify(self._heap)

    def set(self, name: str, number: int) -> None:
        if number <= 0:
            self._numbers.pop(name, None)
        elif self._numbers.get(name) != number:
            self._numbers[name] = number
            heappush(self._heap, (-number, name))
            if len(self._heap) > 4 * len(self._numbers) + 100:
                self._order()

    def outside(self, apart: Collection[str]) -> int:
        """The largest number of all names but these; 0 if there is none."""
        aside, largest = [], 0
        while self._heap:
            negated, name = self._heap[0]
            if self._numbers.get(name) == -negated:
                if name not in apart:
                    largest = -negated
                    break
                aside.append((negated, name))
            heappop(self._heap)
        for entry in dict.fromkeys(aside):
            heappush(self._heap, entry)
        return largest

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)
