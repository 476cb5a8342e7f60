"""Many sliding-window counters side by side: what every kind can do, and the kinds that keep ticks on a ladder."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.codec import Image, Ints
from monitoring_lib.synopses._ladder import (
    fill,
    gather,
    in_order,
    insert_each,
    insert_many,
    sort_each,
    totals,
    with_another_rung,
)
from monitoring_lib.synopses._rows import CellColumns
from monitoring_lib.synopses._window import MOST_ARRIVALS, WeightedTicks

Reals = NDArray[np.float64]

_SMALLEST_ERROR = 1e-5


class Counted(NamedTuple):
    """How many events each cell counted after a cutoff: the estimate, and what the exact number lies between if the
    counter was fed with events; `stretch_low` and `stretch_high` widen that by what merges may have moved."""

    estimate: Reals
    low: Reals
    high: Reals
    stretch_low: float = 1.0
    stretch_high: float = 1.0


class Counters(Image):
    """`cells` counters of one kind and size, for one window. Events must come in the order of their ticks."""

    __slots__ = ()

    @property
    @abstractmethod
    def cells(self) -> int: ...

    @property
    @abstractmethod
    def error(self) -> float:
        """The relative error of a counter that was never merged."""

    @property
    @abstractmethod
    def worst_error(self) -> float:
        """The relative error after the merges that were made."""

    @property
    @abstractmethod
    def doubt(self) -> float:
        """The probability that a single counter misses its error."""

    @abstractmethod
    def insert(self, base: int, width: int, columns: CellColumns, arrivals: WeightedTicks, horizon: int) -> None:
        """Counts events: the i-th at cell ``base + columns[i]``, columns being below `width`.

        What is older than `horizon` is never asked for.
        """

    @abstractmethod
    def tally(self, cutoff: int) -> Counted:
        """The number of events with ticks above the cutoff, cell by cell."""

    @abstractmethod
    def contradiction(self, newest: int, events: int) -> str | None:
        """What could not be after so many events, the last of them at `newest`; None if all could."""

    @abstractmethod
    def mismatch(self, other: Self) -> str | None: ...

    @abstractmethod
    def copy(self) -> Self: ...

    @classmethod
    @abstractmethod
    def joined(cls, banks: Sequence[Self], edge: int) -> Self:
        """The counters of all their events, in the order of ticks; what is not above `edge` may be forgotten."""


@dataclass(slots=True)
class Ladder(Counters):
    """Counters whose ticks are kept on a ladder, which forgets what has left the window.

    So its size follows the most events that a cell had in a window, not those that it ever had. A ladder that grows
    late has lost ticks from before its window, and the first event's stands for them: whether such a counter was fed
    one by one or in bulk may show in its image, but in no answer.

    Merging replays each part as half of every bucket at its start and half at its end (a bucket of one at its end).
    With `error` the relative error of one counter, after h levels of merges::

        (1 - error) ** (h + 1) * exact <= estimate <= (1 + error) ** (h + 1) * exact

    so that ``|estimate - exact| <= ((1 + error) ** (h + 1) - 1) * exact``. Papapetrou, Garofalakis and Deligiannakis,
    Sketching Distributed Sliding-Window Data Streams, section 5.1; its bound for more than one level,
    ``h * error * (1 + error) + error``, is too small from the second level on.
    """

    count: Ints
    """Events ever, cell by cell."""
    first: Ints
    """The tick of the first event of each cell."""
    rings: Ints
    merges: int
    """Levels of merges below this."""

    def __post_init__(self) -> None:
        if self.rings.ndim != 3 or self.rings.shape[0] < 2:
            raise ValueError(f"rings: shape {self.rings.shape}; three dimensions with two layers at least expected")
        layers, cells, slots = self.rings.shape
        if cells < 1 or self.count.shape != (cells,) or self.first.shape != (cells,):
            raise ValueError(f"count, first: shapes {self.count.shape}, {self.first.shape} for {cells} cells")
        if slots < 2 or slots & (slots - 1) or layers > 62:
            raise ValueError(f"rings: {slots} slots in {layers} layers; a power of two in at most 62 expected")
        if self.count.min() < 0 or self.count.max() > MOST_ARRIVALS or not 0 <= self.merges < 64:
            raise ValueError("count, merges: out of range")

    @property
    def cells(self) -> int:
        return int(self.rings.shape[1])

    @property
    def worst_error(self) -> float:
        return (1 + self.error) ** (self.merges + 1) - 1 if self.merges else self.error

    @property
    def doubt(self) -> float:
        return 0.0

    def insert(self, base: int, width: int, columns: CellColumns, arrivals: WeightedTicks, horizon: int) -> None:
        ticks, weights = arrivals.ticks, arrivals.weights
        done = 0
        while True:
            state = (done, horizon, self.count, self.first, self.rings)
            if weights is None:
                done = insert_each(columns, base, width, ticks, *state)
            else:
                done = insert_many(columns, base, ticks, weights, arrivals.step, *state)
            if done == len(columns):
                return
            self.rings = with_another_rung(self.count, self.first, self.rings)

    def contradiction(self, newest: int, events: int) -> str | None:
        # A replay may round the oldest, partial bucket of a cell up, to twice its events at most.
        if int(self.count.max()) > (2 * events if self.merges else events):
            return f"{self.count.max()} events in a cell, of {events} in all"
        return None if in_order(self.count, self.first, self.rings, newest) else "ticks that fall or lie ahead"

    @abstractmethod
    def log(self, edge: int, origin: int) -> tuple[Ints, Ints]:
        """The replayed events of each cell above the edge, packed, with the number of entries of each cell."""

    @abstractmethod
    def like(self, count: Ints, first: Ints, rings: Ints, merges: int) -> Self:
        """Counters of the same making with other contents."""

    def mismatch(self, other: Self) -> str | None:
        if self.rings.shape[1:] != other.rings.shape[1:]:
            return f"cells and slots: {self.rings.shape[1:]} against {other.rings.shape[1:]}"
        return None

    def copy(self) -> Self:
        return self.like(self.count.copy(), self.first.copy(), self.rings.copy(), self.merges)

    def _stretched(self, estimate: Reals, low: Reals, high: Reals) -> Counted:
        return Counted(estimate, low, high, (1 + self.error) ** -self.merges, (1 - self.error) ** -self.merges)

    @classmethod
    def joined(cls, banks: Sequence[Self], edge: int) -> Self:
        model = banks[0]
        together, starts = _gathered([bank.log(edge, edge) for bank in banks])
        events = int(totals(together, starts).max())
        layers = max(2, *(bank.rings.shape[0] for bank in banks), _layers(events, model.rings.shape[2]))
        count, first = np.zeros(model.cells, np.int64), np.zeros(model.cells, np.int64)
        rings = np.zeros((layers, *model.rings.shape[1:]), np.int64)
        fill(together, starts, edge, count, first, rings)
        return model.like(count, first, rings, max(bank.merges for bank in banks) + 1)


def _gathered(logs: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """The logs of all banks cell by cell, each cell's in order, and where each cell's begins: cells differ much in
    length, so that a table as wide as the longest would be mostly empty."""
    length = np.sum([lengths for _, lengths in logs], axis=0)
    starts = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    together, ends = np.empty(starts[-1], np.int64), starts[:-1].copy()
    for entries, lengths in logs:
        gather(entries, lengths, ends, together)
    sort_each(together, starts)
    return together, starts


def empty_log(cells: int, entries: int) -> Ints:
    """Room for the logs of all cells."""
    return np.empty((cells, entries), np.int64)


def _layers(events: int, slots: int) -> int:
    """Layers in which no tick of this many events has left the top rung: ``events >> top <= 2 * slots``."""
    return 2 + (events // (2 * slots + 1)).bit_length()


def slots_for(wanted: float) -> int:
    """Slots a rung: a power of two, so that their place is a mask."""
    return 1 << max(1, math.ceil(math.log2(wanted)))


def checked_error(error: float) -> float:
    if not _SMALLEST_ERROR <= error < 1:
        raise ValueError(f"error: {error} is not between {_SMALLEST_ERROR} and 1")
    return error


def leaf_error(error: float, merge_levels: int) -> float:
    """The error with which counters must be built to keep `error` after so many levels of merges."""
    checked_error(error)
    if not 0 <= merge_levels < 64:
        raise ValueError(f"merge_levels: {merge_levels} is not between 0 and 63")
    return checked_error(math.expm1(math.log1p(error) / (merge_levels + 1)))
