"""Distinct sample: a uniform sample of the distinct items, each with how often it was seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.codec import Ints, Words
from monitoring_lib.hashing import SPARK_SEED, as_column
from monitoring_lib.synopses._confidence import check_tolerance, standard_errors
from monitoring_lib.synopses._items import Items, as_weights, hash_chunks, joined, taken
from monitoring_lib.synopses._kernels_distinct_sample import Table
from monitoring_lib.synopses.base import Bound, Synopsis

LEAST_CAPACITY = 20
_LAST_LEVEL = 63


@dataclass(slots=True)
class DistinctSample(Synopsis, tag=32, version=1):
    """The items whose hash ends in at least `level` zero bits, with their counts: at most `capacity` of them.

    An item is in the sample with probability 2^-level, whatever its count, and its count is exact. For the
    number n of distinct items, of those seen exactly once, or of those that satisfy a predicate, over the
    seeds of the hash::

        Pr[ |estimate - n| <= z * sqrt(n * 2^level) ] >= confidence        (estimate = n while level is 0)

    where z is the two-sided normal quantile of the confidence. `level` is the smallest at which the sample
    fits, so the sample depends on what was seen, not on its order, and a merge is the sample of both,
    exactly.

    Gibbons and Tirthapura, Estimating Simple Functions on the Union of Data Streams; Cormode, Muthukrishnan
    and Zhuang, What's Different: Distributed, Continuous Monitoring of Duplicate-Resilient Aggregates on Data
    Streams, sections 3.3 and 6.1.
    """

    capacity: int
    seed: int = SPARK_SEED
    level: int = 0
    hashes: Words = field(default_factory=lambda: np.empty(0, np.uint64))
    counts: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    items: Items = field(default_factory=Items)

    def __post_init__(self) -> None:
        if not LEAST_CAPACITY <= self.capacity < 1 << 31:
            raise ValueError(f"capacity: {self.capacity} is below {LEAST_CAPACITY} or above 2^31")
        if not 0 <= self.level <= _LAST_LEVEL:
            raise ValueError(f"level: {self.level} is not within 0 to {_LAST_LEVEL}")
        if self.hashes.ndim != 1 or not self.counts.shape == self.hashes.shape == (len(self.items),):
            raise ValueError("hashes, counts and items: as many of each expected, in one dimension")
        if len(self.hashes) > self.capacity or np.any(self.hashes & np.uint64((1 << self.level) - 1)):
            raise ValueError(f"hashes: more than {self.capacity}, or one below level {self.level}")
        if np.any(self.hashes[1:] <= self.hashes[:-1]) or np.any(self.counts <= 0):
            raise ValueError("hashes must increase, counts must be above 0")

    @classmethod
    def for_error(cls, tolerance: float, confidence: float, seed: int = SPARK_SEED) -> DistinctSample:
        """An empty sample large enough for ``|estimate - n| <= tolerance * n``, if it stays half full."""
        check_tolerance(tolerance)
        return cls(max(LEAST_CAPACITY, math.ceil(2 * (standard_errors(confidence) / tolerance) ** 2)), seed)

    def update(self, items: Any, weights: Any = None) -> None:
        column = as_column(items)
        given = as_weights(weights, len(column))
        table = Table(self.capacity, self.level, self.hashes, self.counts)
        for start, hashes in hash_chunks(column, self.seed):
            chunk = np.empty(0, np.int64) if given is None else given[start : start + len(hashes)]
            table.add(hashes, chunk, start + len(self.items))
        # Origins increase: entries of the old sample come first, in its order, then those of this batch.
        old, origins = len(self.items), table.origins[: table.used]
        stayed = int(np.searchsorted(origins, old))
        names = joined(taken(self.items.column(), origins[:stayed]), taken(column, origins[stayed:] - old))
        order = np.argsort(table.hashes[: table.used])
        self.level, self.hashes, self.counts = table.level, table.hashes[order], table.counts[order]
        self.items = Items.of(taken(names, order))

    def estimate(self) -> float:
        """The number of distinct items."""
        return self._scaled(len(self.hashes))

    def estimate_unique(self) -> float:
        """The number of items seen exactly once."""
        return self._scaled(self._unique())

    def estimate_where(self, predicate: Callable[[Any], bool]) -> float:
        """The number of distinct items that satisfy the predicate."""
        return self._scaled(sum(map(predicate, self.items)))

    def estimate_quantile(self, share: float) -> int:
        """The smallest count that at least this share of the items does not exceed (0.5: the median)."""
        if not 0 <= share <= 1:
            raise ValueError(f"share: {share} is not between 0 and 1")
        return self._count_at(share)

    def bound(self, confidence: float = 0.95) -> Bound:
        return self._bound_of(len(self.hashes), confidence)

    def bound_unique(self, confidence: float = 0.95) -> Bound:
        return self._bound_of(self._unique(), confidence)

    def bound_where(self, predicate: Callable[[Any], bool], confidence: float = 0.95) -> Bound:
        return self._bound_of(sum(map(predicate, self.items)), confidence)

    def bound_quantile(self, share: float, confidence: float = 0.95) -> Bound:
        """Counts between which the quantile lies: the sample's, z standard errors of the share to each
        side."""
        exact = self.estimate_quantile(share)
        if self.level == 0:
            return Bound(exact, exact)
        sampled = len(self.counts)
        slack = standard_errors(confidence) * math.sqrt(share * (1 - share) / sampled) + 1 / sampled
        low, high = (self._count_at(min(max(share + side, 0.0), 1.0)) for side in (-slack, slack))
        return Bound(low, high, confidence, {"sketch": high - low})

    def __iter__(self) -> Iterator[tuple[str | int, int]]:
        """The sampled items with their counts."""
        return zip(self.items, self.counts.tolist(), strict=True)

    def __len__(self) -> int:
        return len(self.hashes)

    def raise_level(self, level: int) -> None:
        """Drops every item below `level`: what a site does when it is told of a higher one."""
        if level > self.level:
            kept = _at_level(self.hashes, level)
            names = taken(self.items.column(), kept)
            self.level, self.hashes, self.counts = level, self.hashes[kept], self.counts[kept]
            self.items = Items.of(names)

    def mismatch(self, other: DistinctSample) -> str | None:
        if self.capacity != other.capacity:
            return f"capacity: {self.capacity} against {other.capacity}"
        if self.seed != other.seed:
            return f"seed: {self.seed} against {other.seed}"
        return self.items.mismatch(other.items)

    def _merged(self, other: DistinctSample) -> DistinctSample:
        level = max(self.level, other.level)
        hashes, first, of = np.unique(
            np.concatenate([self.hashes, other.hashes]), return_index=True, return_inverse=True
        )
        counts = np.zeros(len(hashes), np.int64)
        np.add.at(counts, of, np.concatenate([self.counts, other.counts]))
        kept = _at_level(hashes, level)
        while len(kept) > self.capacity:
            level += 1
            kept = _at_level(hashes, level)
        names = taken(joined(self.items.column(), other.items.column()), first[kept])
        return DistinctSample(self.capacity, self.seed, level, hashes[kept], counts[kept], Items.of(names))

    def _unique(self) -> int:
        return int(np.count_nonzero(self.counts == 1))

    def _scaled(self, sampled: int) -> float:
        return float(sampled << self.level)

    def _count_at(self, share: float) -> int:
        if not len(self.counts):
            raise ValueError("share: an empty sample has no quantile")
        return int(np.sort(self.counts)[max(math.ceil(share * len(self.counts)) - 1, 0)])

    def _bound_of(self, sampled: int, confidence: float) -> Bound:
        """Solves ``|sampled - n p| <= z sqrt(n p)`` for n, with p = 2^-level."""
        z = standard_errors(confidence)
        if self.level == 0:
            return Bound(sampled, sampled)
        middle, reach = sampled + z * z / 2, z * math.sqrt(sampled + z * z / 4)
        low, high = max((middle - reach) * 2.0**self.level, sampled), (middle + reach) * 2.0**self.level
        return Bound(low, high, confidence, {"sketch": high - low})


def _at_level(hashes: Words, level: int) -> NDArray[np.int64]:
    return np.flatnonzero((hashes & np.uint64((1 << level) - 1)) == 0)
