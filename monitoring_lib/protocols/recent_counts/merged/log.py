"""The counts that a site took in since it last told: often shorter than the counters that they changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from monitoring_lib.codec import Image, Ints, Words
from monitoring_lib.hashing import SPARK_SEED, hash_items
from monitoring_lib.tick_counts import TickCounts

MOST_ROWS = 1 << 16
"""Rows of a log above which it is given up: the counters are shorter by then."""


def _ints() -> Ints:
    return np.empty(0, np.int64)


def _words() -> Words:
    return np.empty(0, np.uint64)


@dataclass(slots=True)
class Log(Image):
    """Rows of tick, key and count in the order of ticks; a key is the hash of an item's text, or a whole number."""

    first: int = 0
    ticks: Ints = field(default_factory=_ints)
    """Counted from `first`."""
    keys: Words = field(default_factory=_words)
    """Each once, in order."""
    places: Ints = field(default_factory=_ints)
    """Where among the keys each row has its own."""
    counts: Ints = field(default_factory=_ints)

    def __post_init__(self) -> None:
        if not self.ticks.shape == self.places.shape == self.counts.shape == (len(self.ticks),):
            raise ValueError("ticks, places, counts: of unequal length")
        if self.keys.ndim != 1:
            raise ValueError("keys: one dimension expected")
        if not len(self.ticks):
            return
        if self.ticks.min() < 0 or (np.diff(self.ticks) < 0).any() or self.counts.min() <= 0:
            raise ValueError("ticks, counts: a tick falls, or a count is not above 0")
        if self.places.min() < 0 or self.places.max() >= len(self.keys):
            raise ValueError("places: beyond the keys")

    def __len__(self) -> int:
        return len(self.ticks)

    @classmethod
    def of(cls, arriving: TickCounts, are_numbers: bool) -> Log:
        column = arriving.names.column
        if are_numbers:
            keys = column.cast(pa.int64()).to_numpy(zero_copy_only=False).astype(np.uint64)
        else:
            keys = hash_items(column, SPARK_SEED)
        return cls._of(arriving.ticks, keys, arriving.counts)

    @classmethod
    def _of(cls, ticks: Ints, keys: Words, counts: Ints) -> Log:
        unique, places = np.unique(keys, return_inverse=True)
        first = int(ticks[0]) if len(ticks) else 0
        return cls(first, ticks - first, unique, places.astype(np.int64), counts)

    def columns(self) -> tuple[Ints, Words, Ints]:
        """Ticks, keys and counts, row by row."""
        return self.ticks + self.first, self.keys[self.places], self.counts

    @classmethod
    def joined(cls, logs: Sequence[Log]) -> Log:
        """One after the other."""
        filled = [log.columns() for log in logs if len(log)]
        if not filled:
            return cls()
        ticks, keys, counts = (np.concatenate(column) for column in zip(*filled, strict=True))
        return cls._of(ticks, keys, counts)
