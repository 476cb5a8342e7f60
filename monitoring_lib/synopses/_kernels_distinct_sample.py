"""The table behind the update of a distinct sample."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from monitoring_lib.codec import Ints, Words
from monitoring_lib.hashing import Hashes


class SampleTable:
    """The sample while a batch is added: entries side by side, found through an index of slots.

    `origins` says where an entry's item stands: in the old sample, or behind it in the batch.
    """

    __slots__ = ("_index", "counts", "hashes", "level", "origins", "used")

    def __init__(self, capacity: int, level: int, hashes: Words, counts: Ints) -> None:
        room = capacity + 1  # one too many shows that the level must rise
        self.level, self.used = level, len(hashes)
        self.hashes, self.counts, self.origins = (
            np.empty(room, np.uint64),
            np.empty(room, np.int64),
            np.arange(room),
        )
        self.hashes[: self.used], self.counts[: self.used] = hashes, counts
        self._index = np.empty(1 << (4 * room).bit_length(), np.int32)
        _indexed(self.hashes, self.used, self._index)

    def add(self, hashes: Hashes, weights: Ints, first: int) -> None:
        """Adds items by their hashes; `first` is the origin of the first one. No weights: each counts 1."""
        self.level, self.used = _added(
            hashes, weights, first, self.level, self.used, self.hashes, self.counts, self.origins, self._index
        )


@numba.njit(cache=True)
def _indexed(hashes: Any, used: Any, index: Any) -> None:
    """A free slot is -1. The upper half of a hash finds the slot: the level looks at the lower one."""
    index[:] = -1
    mask = len(index) - 1
    for entry in range(used):
        slot = np.int64(hashes[entry] >> np.uint64(32)) & mask
        while index[slot] >= 0:
            slot = (slot + 1) & mask
        index[slot] = entry


@numba.njit(cache=True)
def _added(
    new: Any,
    weights: Any,
    first: Any,
    level: Any,
    used: Any,
    hashes: Any,
    counts: Any,
    origins: Any,
    index: Any,
) -> Any:
    mask = len(index) - 1
    below = np.uint64((1 << level) - 1)
    for i in range(len(new)):
        if new[i] & below:
            continue
        weight = weights[i] if len(weights) else 1
        if weight == 0:
            continue
        slot = np.int64(new[i] >> np.uint64(32)) & mask
        while index[slot] >= 0 and hashes[index[slot]] != new[i]:
            slot = (slot + 1) & mask
        if index[slot] >= 0:
            counts[index[slot]] += weight
            continue
        index[slot] = used
        hashes[used], counts[used], origins[used] = new[i], weight, first + i
        used += 1
        while used == len(hashes):
            level += 1
            below = np.uint64((1 << level) - 1)
            used = _pruned(below, used, hashes, counts, origins)
            _indexed(hashes, used, index)
    return level, used


@numba.njit(cache=True)
def _pruned(below: Any, used: Any, hashes: Any, counts: Any, origins: Any) -> Any:
    kept = 0
    for entry in range(used):
        if not hashes[entry] & below:
            hashes[kept], counts[kept], origins[kept] = hashes[entry], counts[entry], origins[entry]
            kept += 1
    return kept
