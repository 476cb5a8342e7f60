"""Count-Min: how often each item occurred, in an array whose size does not depend on how many items there are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from monitoring_lib.codec import Ints
from monitoring_lib.hashing import Hashes
from monitoring_lib.synopses._items import Column, as_items, as_weights, check_total, total_of
from monitoring_lib.synopses._rows import HashRows, without_collisions
from monitoring_lib.synopses.base import Bound, Synopsis
from monitoring_lib.synopses.hashes import as_hashes

CHUNK = 1 << 15
"""Items placed at a time: their hashes and columns stay in the cache from row to row."""

_MOST = 1 << 60


@dataclass(slots=True)
class CountMin(Synopsis, tag=10, version=1):
    """Sums by item, never too small and rarely too large. With N the sum of all weights, for every item::

        exact <= estimate                                                         always
        estimate <= exact + error * (N - exact)                 with probability confidence

    where ``error = e / width`` and ``confidence = 1 - exp(-depth)``, over the seeds of the rows. The probability
    is that of one item's answer. Inner products: the same with the product of both sums in place of N.

    Cormode and Muthukrishnan, An Improved Data Stream Summary: The Count-Min Sketch and its Applications,
    sections 3 and 4; Papapetrou, Garofalakis and Deligiannakis, Sketching Distributed Sliding-Window Data
    Streams, section 3.
    """

    rows: HashRows
    table: Ints

    def __post_init__(self) -> None:
        if self.table.shape != (self.rows.depth, self.rows.width):
            raise ValueError(f"table: shape {self.table.shape} for {self.rows.depth} x {self.rows.width} rows")
        sums = [total_of(row, self.rows.width) for row in self.table]
        if self.table.min() < 0 or min(sums) != max(sums):
            raise ValueError("table: every row must hold the same sum of counts that are not negative")
        check_total("table", sums[0], _MOST)

    @classmethod
    def for_error(cls, error: float, confidence: float, seed: int = 0) -> CountMin:
        """The smallest array that keeps this error with this confidence."""
        return cls.of_rows(HashRows.for_error(error, confidence, seed))

    @classmethod
    def of_rows(cls, rows: HashRows) -> CountMin:
        """An empty array over given rows."""
        return cls(rows, np.zeros((rows.depth, rows.width), np.int64))

    def update(self, items: Any, weights: Any = None) -> None:
        """Counts items, each by its weight (1 if there are none)."""
        self._count(as_items(items), self.rows.keys, weights)

    def update_hashes(self, hashes: Any, weights: Any = None) -> None:
        """As `update`, from the items' 64-bit hashes, as Spark's ``xxhash64`` makes them."""
        self._count(self.rows.keys_of_hashes(hashes), as_hashes, weights)

    def _count(self, column: Column, keys_of: Callable[[Any], Hashes], weights: Any) -> None:
        amounts = as_weights(weights, len(column))
        check_total("weights", self.total + total_of(amounts, len(column)), _MOST)
        scratch = np.empty(CHUNK, np.int32)
        for start in range(0, len(column), CHUNK):
            keys = keys_of(column[start : start + CHUNK])
            part = None if amounts is None else np.array(amounts[start : start + CHUNK])
            for row in range(self.rows.depth):
                columns = self.rows.columns(row, keys, scratch)
                if part is None:
                    _count(columns, self.table[row])
                else:
                    _add(columns, part, self.table[row])

    @property
    def total(self) -> int:
        """The sum of all weights, exact."""
        return int(self.table[0].sum())

    def estimates(self, items: Any) -> Ints:
        """The estimate of each item."""
        return self._smallest(self.rows.keys(items))

    def estimate(self, item: str | int) -> int:
        return int(self._smallest(self.rows.key(item))[0])

    def bounds(self, items: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The lower and upper bound of each item, with probability `rows.confidence` each."""
        high = _at_least(self.estimates(items))
        return without_collisions(high, self.rows.error, self.total), high

    def bound(self, item: str | int) -> Bound:
        (low,), (high,) = self.bounds([item])
        return Bound(float(low), float(high), self.rows.confidence, {"sketch": float(high - low)})

    def inner_product(self, other: CountMin) -> int:
        """The estimate of the sum, over all items, of the product of its counts here and there."""
        reason = self.mismatch(other)
        if reason is not None:
            raise ValueError(f"other: arrays of unlike making have no inner product: {reason}")
        products: list[int] = [
            sum(a * b for a, b in zip(mine.tolist(), theirs.tolist(), strict=True))
            for mine, theirs in zip(self.table, other.table, strict=True)
        ]
        return min(products)

    def bound_inner_product(self, other: CountMin) -> Bound:
        product = self.inner_product(other)
        high = float(product) if product <= 1 << 53 else math.nextafter(float(product), math.inf)
        most = float(self.total) * float(other.total)
        low = float(without_collisions(np.array([high]), self.rows.error, most)[0])
        return Bound(low, high, self.rows.confidence, {"sketch": high - low})

    def self_join(self) -> int:
        """The estimate of the sum of the squared counts."""
        return self.inner_product(self)

    def bound_self_join(self) -> Bound:
        return self.bound_inner_product(self)

    def mismatch(self, other: CountMin) -> str | None:
        return self.rows.mismatch(other.rows)

    def _merged(self, other: CountMin) -> CountMin:
        check_total("parts", self.total + other.total, _MOST)
        return CountMin(self.rows, self.table + other.table)

    def _smallest(self, keys: Hashes) -> Ints:
        found: Ints = self.table[0, self.rows.columns(0, keys)]
        for row in range(1, self.rows.depth):
            np.minimum(found, self.table[row, self.rows.columns(row, keys)], out=found)
        return found


def _at_least(counts: Ints) -> NDArray[np.float64]:
    """Upper bounds as floats, which cannot hold every whole number above 2^53: never less than the number."""
    return np.where(counts > 1 << 53, np.nextafter(counts.astype(np.float64), np.inf), counts.astype(np.float64))


@numba.njit(cache=True)
def _count(columns: Any, row: Any) -> None:
    for i in range(len(columns)):
        row[np.uint32(columns[i])] += 1


@numba.njit(cache=True)
def _add(columns: Any, weights: Any, row: Any) -> None:
    for i in range(len(columns)):
        row[np.uint32(columns[i])] += weights[i]
