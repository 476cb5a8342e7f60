"""Distinct sample: a uniform sample of the distinct items, each with how often it was seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.codec import Ints, Words
from monitoring_lib.hashing import SPARK_SEED, Hashes, hash_items
from monitoring_lib.synopses._confidence import check_tolerance, standard_errors
from monitoring_lib.synopses._items import (
    Column,
    Items,
    as_items,
    as_weights,
    check_total,
    hash_chunks,
    joined,
    taken,
    total_of,
)
from monitoring_lib.synopses._kernels_distinct_sample import SampleTable
from monitoring_lib.synopses.base import Bound, Synopsis
from monitoring_lib.synopses.hashes import as_hashes, seeded, seeded_chunks

LEAST_CAPACITY = 20
_LAST_LEVEL = 63


@dataclass(slots=True)
class DistinctSample(Synopsis, tag=32, version=2):
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
    named: bool = True
    """Whether it keeps the items themselves; if not, it can be fed with their hashes alone."""

    def __post_init__(self) -> None:
        if not LEAST_CAPACITY <= self.capacity < 1 << 31:
            raise ValueError(f"capacity: {self.capacity} is below {LEAST_CAPACITY} or above 2^31")
        if not 0 <= self.level <= _LAST_LEVEL:
            raise ValueError(f"level: {self.level} is not within 0 to {_LAST_LEVEL}")
        if self.hashes.ndim != 1 or self.counts.shape != self.hashes.shape:
            raise ValueError("hashes, counts: as many of each expected, in one dimension")
        if len(self.items) != (len(self.hashes) if self.named else 0):
            raise ValueError(f"items: {len(self.items)} names for {len(self.hashes)} hashes")
        if len(self.hashes) > self.capacity or np.any(self.hashes & np.uint64((1 << self.level) - 1)):
            raise ValueError(f"hashes: more than {self.capacity}, or one below level {self.level}")
        if np.any(self.hashes[1:] <= self.hashes[:-1]) or np.any(self.counts <= 0):
            raise ValueError("hashes must increase, counts must be above 0")
        if self.named and not np.array_equal(self._hashes_of(self.items.column()), self.hashes):
            raise ValueError("items, hashes: an item does not have the hash that stands beside it")

    @classmethod
    def for_error(cls, tolerance: float, confidence: float, seed: int = SPARK_SEED) -> DistinctSample:
        """An empty sample large enough for ``|estimate - n| <= tolerance * n``, if it stays half full."""
        check_tolerance(tolerance)
        return cls(max(LEAST_CAPACITY, math.ceil(2 * (standard_errors(confidence) / tolerance) ** 2)), seed)

    def update(self, items: Any, weights: Any = None) -> None:
        column = as_items(items)
        joined(self.items.column()[:1], column[:1])  # refuses strings beside whole numbers before anything has changed
        self._take_in(len(column), hash_chunks(column), weights, column if self.named else None)

    def update_hashes(self, hashes: Any, weights: Any = None) -> None:
        """As `update`, from the items' 64-bit hashes as Spark's ``xxhash64`` makes them, for a sample without names."""
        if self.named:
            raise ValueError("hashes: this sample names its items; make it with named=False to feed it with hashes")
        given = as_hashes(hashes)
        self._take_in(len(given), seeded_chunks(given, SPARK_SEED), weights, None)

    def _take_in(self, length: int, chunks: Iterable[tuple[int, Hashes]], weights: Any, column: Column | None) -> None:
        given = as_weights(weights, length)
        check_total("weights", int(self.counts.max(initial=0)) + total_of(given, length))
        old = len(self.hashes)
        table = SampleTable(self.capacity, self.level, self.hashes, self.counts)
        for start, hashes in chunks:
            chunk = np.empty(0, np.int64) if given is None else given[start : start + len(hashes)]
            table.add(seeded(hashes, self.seed), chunk, start + old)
        order = np.argsort(table.hashes[: table.used])
        if column is not None:
            # Origins increase: entries of the old sample come first, in its order, then those of this batch.
            origins = table.origins[: table.used]
            stayed = int(np.searchsorted(origins, old))
            names = joined(taken(self.items.column(), origins[:stayed]), taken(column, origins[stayed:] - old))
            self.items = Items.of(taken(names, order))
        self.level, self.hashes, self.counts = table.level, table.hashes[order], table.counts[order]

    def estimate(self) -> float:
        """The number of distinct items."""
        return self._scaled(len(self.hashes))

    def estimate_unique(self) -> float:
        """The number of items seen exactly once."""
        return self._scaled(self._unique())

    def estimate_where(self, predicate: Callable[[Any], bool]) -> float:
        """The number of distinct items that satisfy the predicate."""
        return self._scaled(self._satisfying(predicate))

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
        return self._bound_of(self._satisfying(predicate), confidence)

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
        self._check_named()
        return zip(self.items, self.counts.tolist(), strict=True)

    def __len__(self) -> int:
        return len(self.hashes)

    def raise_level(self, level: int) -> None:
        """Drops every item below `level`: what a site does when it is told of a higher one."""
        if level > self.level:
            kept = _at_level(self.hashes, level)
            if self.named:
                self.items = Items.of(taken(self.items.column(), kept))
            self.level, self.hashes, self.counts = level, self.hashes[kept], self.counts[kept]

    def mismatch(self, other: DistinctSample) -> str | None:
        if self.capacity != other.capacity:
            return f"capacity: {self.capacity} against {other.capacity}"
        if self.seed != other.seed:
            return f"seed: {self.seed} against {other.seed}"
        if self.named != other.named:
            return f"named: {self.named} against {other.named}"
        return self.items.mismatch(other.items)

    @classmethod
    def _merged_all(cls, parts: Sequence[DistinctSample]) -> DistinctSample:
        model, level = parts[0], max(part.level for part in parts)
        hashes, first, of = np.unique(
            np.concatenate([part.hashes for part in parts]), return_index=True, return_inverse=True
        )
        check_total("parts", sum(int(part.counts.max(initial=0)) for part in parts))
        counts = np.zeros(len(hashes), np.int64)
        np.add.at(counts, of, np.concatenate([part.counts for part in parts]))
        kept = _at_level(hashes, level)
        while len(kept) > model.capacity:
            level += 1
            kept = _at_level(hashes, level)
        items = Items()
        if model.named:
            items = Items.of(taken(joined(*(part.items.column() for part in parts)), first[kept]))
        return cls(model.capacity, model.seed, level, hashes[kept], counts[kept], items, model.named)

    def _hashes_of(self, column: Column) -> Hashes:
        return seeded(hash_items(column, SPARK_SEED), self.seed)

    def _satisfying(self, predicate: Callable[[Any], bool]) -> int:
        self._check_named()
        return sum(map(predicate, self.items))

    def _check_named(self) -> None:
        if not self.named:
            raise ValueError("named: this sample was made without the names of its items")

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
