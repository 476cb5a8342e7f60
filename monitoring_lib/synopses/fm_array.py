"""Array of Flajolet-Martin sketches: for each item the number of distinct partners it was seen with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from monitoring_lib.codec import Ints, Words
from monitoring_lib.hashing import SPARK_SEED, Hashes, draw, hash_items
from monitoring_lib.synopses._confidence import check_tolerance, standard_errors
from monitoring_lib.synopses._items import Column, Items, as_items, as_weights, taken
from monitoring_lib.synopses.base import Bound, Synopsis
from monitoring_lib.synopses.fm import MOST_LEVELS, bitmaps_for, check_levels, error_of, likelihood_estimates
from monitoring_lib.synopses.hashes import as_hashes, hash_pairs, seeded

_CHUNK = 1 << 14  # pairs whose hashes and cells stay in the cache


@dataclass(slots=True)
class FmArray(Synopsis, tag=36, version=2):
    """Distinct heavy hitters: rows of cells, each cell an FM sketch of the pairs whose item falls into it.

    For an item with d distinct pairs among N, over the seeds, with failure = 1 - confidence::

        Pr[ (1 - error) * d - 1 <= estimate <= (1 + error) * (d + collisions * N) + 1 ] >= confidence
        collisions = (2 / failure)^(1 / rows) / cells,   error of an FM at confidence 1 - failure / (2 * rows)

    The estimate is the least over the rows. All rows use one FM hash: with independent ones the minimum is
    biased downwards. A merge is the bitwise or, and exact.

    Cormode, Muthukrishnan and Zhuang, What's Different: Distributed, Continuous Monitoring of
    Duplicate-Resilient Aggregates on Data Streams, section 6.2.
    """

    bitmaps: Words
    levels: int = MOST_LEVELS
    seed: int = SPARK_SEED
    direct: bool = False
    """Whether items are whole numbers below `cells`, each with a cell of its own: then nothing collides."""

    def __post_init__(self) -> None:
        if self.bitmaps.ndim != 3 or not all(1 <= length < 1 << 32 for length in self.bitmaps.shape):
            raise ValueError(f"bitmaps: rows of cells of bitmaps expected, found shape {self.bitmaps.shape}")
        check_levels(self.bitmaps, self.levels)
        if np.any(self.bits_seen() != self.bits_seen()[0]):
            raise ValueError("bitmaps: every pair sets the same bit in each row, but the rows hold different ones")
        if self.direct and len(self.bitmaps) > 1:
            raise ValueError(f"direct: one row is enough, found {len(self.bitmaps)}")

    @classmethod
    def of_size(cls, rows: int, cells: int, bitmaps: int, levels: int = MOST_LEVELS, seed: int = SPARK_SEED) -> FmArray:
        """An empty array of so many rows, cells a row and bitmaps a cell."""
        return cls(np.zeros((rows, cells, bitmaps), np.uint64), levels, seed)

    @classmethod
    def for_error(cls, collisions: float, tolerance: float, confidence: float, seed: int = SPARK_SEED) -> FmArray:
        """An empty array with at most these `collisions` and an `error` of at most the tolerance."""
        check_tolerance(collisions)
        standard_errors(confidence)
        failure = 1 - confidence
        rows = math.ceil(math.log(2 / failure))
        cells = math.ceil((2 / failure) ** (1 / rows) / collisions)
        return cls.of_size(rows, cells, bitmaps_for(tolerance, 1 - failure / (2 * rows)), seed=seed)

    def update(self, items: Any, partners: Any = None, weights: Any = None) -> Ints:
        """Adds pairs, or items alone, each its own partner. Returns the positions of those that set a bit:
        whoever keeps the names of possible heavy hitters need look at no others."""
        column, others = as_items(items), None if partners is None else as_items(partners)

        def hashed(some: Ints) -> tuple[Ints, Ints]:
            chunk = taken(column, some)
            hashes = hash_items(chunk, SPARK_SEED)
            with_them = None if others is None else hash_items(taken(others, some), SPARK_SEED)
            cells = self._own_cells(chunk) if self.direct else self._hashed_cells(hashes)
            return cells, self.bits_of_hashes(hashes, with_them)

        return self._take_in(column, others, weights, hashed)

    def update_hashes(self, hashes: Any, partners: Any = None, weights: Any = None) -> Ints:
        """As `update`, from the 64-bit hashes of items and of partners, as Spark's ``xxhash64`` makes them."""
        given, others = as_hashes(hashes), None if partners is None else as_hashes(partners, "partners")
        if self.direct:
            raise ValueError("hashes: each item has a cell of its own here, so the items themselves are needed")

        def ready(some: Ints) -> tuple[Ints, Ints]:
            with_them = None if others is None else others[some]
            return self._hashed_cells(given[some]), self.bits_of_hashes(given[some], with_them)

        return self._take_in(given, others, weights, ready)

    def bits_of(self, items: Any, partners: Any = None) -> Ints:
        """Which bit of its cells each pair sets, whatever the cells are: ``bitmap * levels + level``."""
        others = None if partners is None else hash_items(as_items(partners), SPARK_SEED)
        return self.bits_of_hashes(hash_items(as_items(items), SPARK_SEED), others)

    def bits_of_hashes(self, hashes: Any, partners: Any = None) -> Ints:
        """The same for items and partners that are given by their hashes."""
        pairs = hash_pairs(as_hashes(hashes), None if partners is None else as_hashes(partners, "partners"))
        out = np.empty(len(pairs), np.int64)
        _chosen(seeded(pairs, self.seed), self.bitmaps.shape[2], self.levels, out)
        return out

    def set_bits(self, items: Any, bits: Ints) -> Ints:
        """Sets bits as `bits_of` names them, in the items' cells; returns the positions that changed any."""
        column = as_items(items)
        if bits.shape != (len(column),):
            raise ValueError(f"bits: {len(column)} expected, one an item, found shape {bits.shape}")
        if len(bits) and not 0 <= int(bits.min()) <= int(bits.max()) < self.bitmaps.shape[2] * self.levels:
            raise ValueError(f"bits: not all within 0 to {self.bitmaps.shape[2] * self.levels - 1}")
        return self._set_bits(self._cells(column), bits)

    def _take_in(self, items: Any, partners: Any, weights: Any, placed: Callable[[Ints], tuple[Ints, Ints]]) -> Ints:
        """Sets the bits of what did occur, chunk by chunk; `placed` gives the cells and bits at some positions."""
        if partners is not None and len(partners) != len(items):
            raise ValueError(f"partners: {len(items)} expected, one an item, found {len(partners)}")
        given = as_weights(weights, len(items))
        there = np.arange(len(items)) if given is None else np.flatnonzero(given)
        found = [np.empty(0, np.int64)]
        for start in range(0, len(there), _CHUNK):
            some = there[start : start + _CHUNK]
            found.append(some[self._set_bits(*placed(some))])
        return np.concatenate(found)

    def _set_bits(self, cells: Ints, bits: Ints) -> Ints:
        changed = np.zeros(len(bits), np.bool_)
        _set(cells, bits, self.levels, self.bitmaps, changed)
        return np.flatnonzero(changed)

    def bits_seen(self) -> Words:
        """Row by row, the bits that are set in any cell: one FM sketch of all pairs, the same in each row."""
        return np.asarray(np.bitwise_or.reduce(self.bitmaps, axis=1))

    def estimates(self, items: Any) -> NDArray[np.float64]:
        """For each item the number of its distinct pairs."""
        cells = self._cells(as_items(items))
        rows = np.arange(len(self.bitmaps))[:, np.newaxis]
        return np.asarray(self._cell_estimates()[rows, cells].min(axis=0))

    def estimate(self, item: str | int) -> float:
        return float(self.estimates([item])[0])

    def total(self) -> float:
        """The number of distinct pairs of all items: cells of a row add up to it."""
        return float(self._cell_estimates().sum(axis=1).mean())

    def bound(self, item: str | int, confidence: float = 0.95) -> Bound:
        error, collisions = self.errors(confidence)
        estimate, others = self.estimate(item), collisions * self.total()
        low = max((estimate - 1) / (1 + error) - others, 0.0) if math.isfinite(estimate) else 0.0
        high = (estimate + 1) / (1 - error) if error < 1 else math.inf
        return Bound(low, high, confidence, {"sketch": high - low})

    def errors(self, confidence: float) -> tuple[float, float]:
        """The relative error of a cell, and the share of all pairs that may share it, at this confidence."""
        standard_errors(confidence)
        rows, cells, bitmaps = self.bitmaps.shape
        failure = 1 - confidence
        collisions = 0.0 if self.direct else (2 / failure) ** (1 / rows) / cells
        return error_of(bitmaps, 1 - failure / (2 * rows)), collisions

    def heavy_hitters(self, names: Any, threshold: float) -> list[tuple[str | int, float]]:
        """Those of `names` with an estimate of at least `threshold` distinct pairs, largest first."""
        column = as_items(names)
        estimates = self.estimates(column)
        order = np.argsort(-estimates, kind="stable")[: int(np.count_nonzero(estimates >= threshold))]
        return list(zip(Items.of(taken(column, order)), estimates[order].tolist(), strict=True))

    def mismatch(self, other: FmArray) -> str | None:
        for name, ours, theirs in zip(
            ("rows", "cells", "bitmaps"), self.bitmaps.shape, other.bitmaps.shape, strict=True
        ):
            if ours != theirs:
                return f"{name}: {ours} against {theirs}"
        if self.levels != other.levels:
            return f"levels: {self.levels} against {other.levels}"
        if self.direct != other.direct:
            return f"direct: {self.direct} against {other.direct}"
        return f"seed: {self.seed} against {other.seed}" if self.seed != other.seed else None

    def _merged(self, other: FmArray) -> FmArray:
        return FmArray(self.bitmaps | other.bitmaps, self.levels, self.seed, self.direct)

    def _cell_estimates(self) -> NDArray[np.float64]:
        rows, cells, bitmaps = self.bitmaps.shape
        return likelihood_estimates(self.bitmaps.reshape(-1, bitmaps), self.levels).reshape(rows, cells)

    def _cells(self, items: Column) -> Ints:
        """The cell of each item in each row."""
        return self._own_cells(items) if self.direct else self._hashed_cells(hash_items(items, SPARK_SEED))

    def _hashed_cells(self, hashes: Hashes) -> Ints:
        """By a hash function of the row's own."""
        rows, cells, _ = self.bitmaps.shape
        factors, shifts = draw(self.seed, 2 * rows).reshape(2, rows, 1)
        upper = (seeded(hashes, self.seed) * factors + shifts) >> np.uint64(32)
        return ((upper * np.uint64(cells)) >> np.uint64(32)).astype(np.int64)

    def _own_cells(self, items: Column) -> Ints:
        cells = self.bitmaps.shape[1]
        if not isinstance(items, np.ndarray):
            raise ValueError("items: whole numbers expected, because each has a cell of its own; found strings")
        if len(items) and not 0 <= int(items.min()) <= int(items.max()) < cells:
            raise ValueError(f"items: {items.min()} to {items.max()} is not within 0 to {cells - 1}")
        return items.astype(np.int64)[np.newaxis]


@numba.njit(cache=True)
def _chosen(hashes: Any, bitmaps: Any, levels: Any, out: Any) -> None:
    for i in range(len(hashes)):
        level = 0
        while level < levels - 1 and not (hashes[i] >> np.uint64(level)) & np.uint64(1):
            level += 1
        out[i] = np.int64(((hashes[i] >> np.uint64(32)) * np.uint64(bitmaps)) >> np.uint64(32)) * levels + level


@numba.njit(cache=True)
def _set(cells: Any, bits: Any, levels: Any, bitmaps: Any, changed: Any) -> None:
    for i in range(len(bits)):
        bitmap, bit = bits[i] // levels, np.uint64(1) << np.uint64(bits[i] % levels)
        for row in range(len(cells)):
            if not bitmaps[row, cells[row, i], bitmap] & bit:
                bitmaps[row, cells[row, i], bitmap] |= bit
                changed[i] = True
