"""Distinct quantiles: ranks among distinct pairs, from one array of FM sketches for each dyadic height."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.hashing import SPARK_SEED
from monitoring_lib.synopses._confidence import check_tolerance, standard_errors
from monitoring_lib.synopses._items import as_weights, whole_numbers
from monitoring_lib.synopses.base import Bound, Synopsis
from monitoring_lib.synopses.fm import bitmaps_for, error_of
from monitoring_lib.synopses.fm_array import FmArray

_ROWS = 3


@dataclass(slots=True)
class DyadicDistinct(Synopsis, tag=37, version=2):
    """How many distinct pairs have an item up to a value, for items in 0 .. 2^b - 1, where b = len(arrays).

    The array at height h counts the distinct pairs of each range of 2^h items, in a cell of its own where the
    ranges are no more than the cells; a rank is the sum of at most one range a height. For N distinct pairs,
    over the seeds, with failure = 1 - confidence and s heights whose ranges share cells::

        Pr[ |estimate_rank - rank| <= (error + collisions) * N + b ] >= confidence
        collisions = s * (2 * s / failure)^(1 / rows) / cells,   error of an FM at confidence 1 - failure / 2

    A pair has the same FM hash at every height, so duplicates change nothing; a merge is exact.

    Cormode, Muthukrishnan and Zhuang, What's Different: Distributed, Continuous Monitoring of
    Duplicate-Resilient Aggregates on Data Streams, section 6.2.
    """

    arrays: list[FmArray]

    def __post_init__(self) -> None:
        if not 1 <= len(self.arrays) <= 62:
            raise ValueError(f"arrays: {len(self.arrays)} is not within 1 to 62")
        first = self.arrays[0]
        for height, array in enumerate(self.arrays):
            if array.bitmaps.shape[2] != first.bitmaps.shape[2] or array.seed != first.seed:
                raise ValueError("arrays: all need as many bitmaps a cell and the same seed")
            if array.levels != first.levels or (array.direct and self._ranges(height) > array.bitmaps.shape[1]):
                raise ValueError(f"arrays: the one at height {height} does not fit the others")
            if not np.array_equal(array.bits_seen()[0], first.bits_seen()[0]):
                raise ValueError(f"arrays: the one at height {height} has seen other pairs than the first")

    @classmethod
    def of_size(cls, bits: int, cells: int, bitmaps: int, rows: int = _ROWS, seed: int = SPARK_SEED) -> DyadicDistinct:
        """An empty one for items below 2^bits, with at most so many cells in each row at each height."""
        arrays = []
        for height in range(bits):
            own = bits - height <= cells.bit_length() - 1
            shape = (1, 1 << (bits - height), bitmaps) if own else (rows, cells, bitmaps)
            arrays.append(FmArray(np.zeros(shape, np.uint64), seed=seed, direct=own))
        return cls(arrays)

    @classmethod
    def for_error(cls, bits: int, tolerance: float, confidence: float, seed: int = SPARK_SEED) -> DyadicDistinct:
        """An empty one with ``error + collisions <= tolerance``, half of it for each."""
        check_tolerance(tolerance)
        bitmaps = bitmaps_for(tolerance / 2, (1 + confidence) / 2)
        cells = 2
        while _collisions(max(0, bits - cells.bit_length() + 1), _ROWS, cells, confidence) > tolerance / 2:
            cells *= 2
        return cls.of_size(bits, cells, bitmaps, _ROWS, seed)

    def update(self, items: Any, partners: Any = None, weights: Any = None) -> None:
        """Adds pairs, or items alone, each its own partner; items are whole numbers."""
        values = self._values(items)
        bits = self.arrays[0].bits_of(values, partners)
        given = as_weights(weights, len(values))
        if given is not None:
            there = np.flatnonzero(given)
            values, bits = values[there], bits[there]
        for height, array in enumerate(self.arrays):
            array.set_bits(values >> height, bits)

    def total(self) -> float:
        """The number of distinct pairs."""
        return self.arrays[0].total()

    def estimate_rank(self, value: int) -> float:
        """The number of distinct pairs whose item is at most `value`."""
        end = int(self._values([value])[0]) + 1
        if end == self._ranges(0):
            return self.total()
        ranges = [(height, (end >> height) - 1) for height in range(len(self.arrays)) if end >> height & 1]
        return sum(self.arrays[height].estimate(at) for height, at in ranges)

    def estimate_quantile(self, share: float) -> int:
        """An item up to which about this share of the distinct pairs lies (0.5: the median)."""
        if not 0 <= share <= 1:
            raise ValueError(f"share: {share} is not between 0 and 1")
        wanted, at = share * self.total(), 0
        for array in reversed(self.arrays):
            at *= 2
            left = array.estimate(at)
            if wanted > left:
                wanted -= left
                at += 1
        return at

    def bound_rank(self, value: int, confidence: float = 0.95) -> Bound:
        rank, reach = self.estimate_rank(value), self._reach(confidence)
        return Bound(max(rank - reach, 0.0), rank + reach, confidence, {"sketch": 2 * reach})

    def bound_quantile(self, share: float, confidence: float = 0.95) -> Bound:
        """Items between which the quantile lies: twice as far away as a rank may be off, once for the rank
        itself and once for the total that the share is taken of."""
        self.estimate_quantile(share)
        reach = 2 * self._reach(confidence) / max(self.total(), 1.0)
        low, high = (self.estimate_quantile(min(max(share + side, 0.0), 1.0)) for side in (-reach, reach))
        return Bound(low, high, confidence, {"sketch": float(high - low)})

    def mismatch(self, other: DyadicDistinct) -> str | None:
        if len(self.arrays) != len(other.arrays):
            return f"bits: {len(self.arrays)} against {len(other.arrays)}"
        reasons = (ours.mismatch(theirs) for ours, theirs in zip(self.arrays, other.arrays, strict=True))
        return next((reason for reason in reasons if reason is not None), None)

    @classmethod
    def _merged_all(cls, parts: Sequence[DyadicDistinct]) -> DyadicDistinct:
        return cls([FmArray.merge_all(arrays) for arrays in zip(*(part.arrays for part in parts), strict=True)])

    def _ranges(self, height: int) -> int:
        return 1 << (len(self.arrays) - height)

    def _reach(self, confidence: float) -> float:
        """How far a rank may be off."""
        rows, cells, bitmaps = self.arrays[0].bitmaps.shape
        shared = sum(not array.direct for array in self.arrays)
        error = error_of(bitmaps, (1 + confidence) / 2) + _collisions(shared, rows, cells, confidence)
        return error * self.total() + len(self.arrays)

    def _values(self, items: Any) -> NDArray[np.int64]:
        values = whole_numbers(items, "items")
        if values.ndim != 1:
            raise ValueError(f"items: a row of whole numbers expected, found shape {values.shape}")
        if len(values) and not 0 <= int(values.min()) <= int(values.max()) < self._ranges(0):
            raise ValueError(f"items: {values.min()} to {values.max()} is not within 0 to {self._ranges(0) - 1}")
        return values


def _collisions(shared: int, rows: int, cells: int, confidence: float) -> float:
    """The share of all pairs by which collisions may raise a rank."""
    standard_errors(confidence)
    return float(shared * (2 * shared / (1 - confidence)) ** (1 / rows) / cells) if shared else 0.0
