"""Exact counts of a window by item, in columns, beside the tally that stores them tick by tick."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from monitoring_lib.codec import Image, Ints
from monitoring_lib.methods import Ask, Moment
from monitoring_lib.tally import Tally
from monitoring_lib.tick_counts import TickCounts


class ItemWindow:
    """The counts of the items in a window. The ring stores them by (owner, tick, item) and is changed in step.

    Items are numbered in the order in which they are first seen; `numbers` and the columns grow, and start anew when
    the window is made anew from its ring.
    """

    def __init__(self, ring: Tally, first: Iterable[str] = ()) -> None:
        self.ring = ring
        self.numbers: dict[str, int] = {}
        self.names: list[str] = []
        self._counts = np.zeros(16, np.int64)
        self._ticks: dict[int, list[tuple[str, Ints, Ints]]] = {}
        self._number(list(first))
        groups: dict[tuple[int, str], tuple[list[str], list[int]]] = {}
        for (owner, tick, item), count in sorted(ring.items()):
            names, counts = groups.setdefault((int(tick), owner), ([], []))
            names.append(item)
            counts.append(count)
        for (number, owner), (names, counts) in groups.items():
            self._count(owner, number, names, np.array(counts, np.int64))

    @property
    def counts(self) -> Ints:
        """By the items' numbers."""
        return self._counts[: len(self.names)]

    @property
    def owners(self) -> set[str]:
        """Whose events the window holds."""
        return {owner for entries in self._ticks.values() for owner, _, _ in entries}

    @property
    def held(self) -> int:
        """How many rows the ring has."""
        return len(self.ring)

    def counts_of(self, owners: Collection[str]) -> Ints:
        """What these owners' events come to."""
        found = np.zeros(len(self.names), np.int64)
        for entries in self._ticks.values():
            for owner, numbers, counts in entries:
                if owner in owners:
                    np.add.at(found, numbers, counts)
        return found

    def take(self, owner: str, arriving: TickCounts, cutoff: int) -> None:
        """New events in; those up to the tick `cutoff` out."""
        names = arriving.names.tolist()
        ticks, starts = np.unique(arriving.ticks, return_index=True)
        for tick, start, stop in zip(ticks.tolist(), starts, np.append(starts, len(names))[1:], strict=True):
            if tick > cutoff:
                counts = arriving.counts[start:stop]
                self._count(owner, tick, names[start:stop], counts)
                keys = [(owner, str(tick), name) for name in names[start:stop]]
                self.ring.add_all(keys, counts.tolist())
        self.expire(cutoff)

    def expire(self, cutoff: int) -> None:
        for tick in [tick for tick in self._ticks if tick <= cutoff]:
            for owner, numbers, counts in self._ticks.pop(tick):
                np.subtract.at(self._counts, numbers, counts)
                self.ring.drop_all([(owner, str(tick), self.names[number]) for number in numbers.tolist()])

    def numbered(self, names: Sequence[str]) -> Ints:
        """The numbers of items; those not seen before get one."""
        self._number(names)
        return np.fromiter(map(self.numbers.__getitem__, names), np.int64, len(names))

    def _number(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self.numbers:
                self.numbers[name] = len(self.names)
                self.names.append(name)
        if len(self.names) > len(self._counts):
            self._counts = grown(self._counts, 2 * len(self.names))

    def _count(self, owner: str, tick: int, names: Sequence[str], counts: Ints) -> None:
        numbers = self.numbered(names)
        np.add.at(self._counts, numbers, counts)
        self._ticks.setdefault(tick, []).append((owner, numbers, counts))


def last_tick(ask: Ask, moment: Moment) -> int:
    """The number of the epoch's last tick: the window holds the ticks above ``last_tick - ask.span``."""
    return (moment.epoch + 1) * ask.ticks - 1


def grown(column: Ints, length: int) -> Ints:
    """The column with zeros behind it."""
    return np.concatenate([column, np.zeros(max(0, length - len(column)), np.int64)])


def squares(column: Ints) -> int:
    """The sum of the squares, exact."""
    largest = int(np.abs(column).max()) if len(column) else 0
    if largest**2 * len(column) < 1 << 62:
        return int(np.dot(column, column))
    return sum(value * value for value in column.tolist())


W = TypeVar("W")


class AtHand(Generic[W]):
    """Columns made of a state, as long as the same object is observed epoch after epoch."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, int, W]] = {}
        self._epoch = 0

    def find(self, state: Image, epoch: int) -> W | None:
        """What was kept for this state in this epoch or the one before."""
        entry = self._made.get(id(state))
        return entry[2] if entry is not None and entry[1] in (epoch - 1, epoch) else None

    def keep(self, state: Image, epoch: int, made: W) -> W:
        if epoch != self._epoch:
            self._made = {key: entry for key, entry in self._made.items() if entry[1] >= epoch - 1}
            self._epoch = epoch
        self._made[id(state)] = (state, epoch, made)  # which holds the state, so that its id stays its own
        return made

    def drop(self, state: Image) -> None:
        self._made.pop(id(state), None)
