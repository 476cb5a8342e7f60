"""Arrays of Flajolet-Martin sketches: which bits a pair sets, and what the bits that are set say.

An array has `rows` of `cells`, each a sketch of `bitmaps` bitmaps. An item has one cell in each row; a pair sets one
bit, the same in all of them. A bit of the array is named by one number, its code.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.hashing import SPARK_SEED, draw, hash_strings
from monitoring_lib.names import Names
from monitoring_lib.synopses.fm import MOST_LEVELS, likelihood_of_levels
from monitoring_lib.synopses.fm_array import FmArray
from monitoring_lib.synopses.hashes import seeded

LEVELS = MOST_LEVELS
CellNumbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Layout:
    """The size of an array, and the seed of its hashes."""

    rows: int
    cells: int
    bitmaps: int
    seed: int

    @property
    def bits(self) -> int:
        """Bits of a cell."""
        return self.bitmaps * LEVELS

    def cells_of(self, items: Names) -> CellNumbers:
        """The cell of each item in each row, as `FmArray` chooses them, counted through all rows."""
        hashes = seeded(hash_strings(items.column, SPARK_SEED), self.seed)
        factors, shifts = draw(self.seed, 2 * self.rows).reshape(2, self.rows, 1)
        upper = (hashes * factors + shifts) >> np.uint64(32)
        within = ((upper * np.uint64(self.cells)) >> np.uint64(32)).astype(np.int64)
        return np.asarray(within + self.cells * np.arange(self.rows)[:, np.newaxis])

    def codes(self, items: Names, bits: CellNumbers) -> CellNumbers:
        """Row by row, the code of the bit that each item sets."""
        return np.asarray(self.cells_of(items) * self.bits + bits)


def bits_of(items: Names, partners: Names, bitmaps: int, seed: int) -> CellNumbers:
    """Which bit of a cell each pair sets, whatever the cell is: ``bitmap * LEVELS + level``."""
    hashes, others = hash_strings(items.column, SPARK_SEED), hash_strings(partners.column, SPARK_SEED)
    return FmArray.of_size(1, 1, bitmaps, seed=seed).bits_of_hashes(hashes, others)


def estimates_by_cell(codes: CellNumbers, bitmaps: int) -> tuple[CellNumbers, NDArray[np.float64]]:
    """The cells in which any of the sorted codes lies, in order, with the estimate of each."""
    cells, at = np.unique(codes // (bitmaps * LEVELS), return_inverse=True)
    set_at = np.bincount(at * LEVELS + codes % LEVELS, minlength=len(cells) * LEVELS)
    return cells, likelihood_of_levels(set_at.reshape(len(cells), LEVELS).astype(np.int64), bitmaps)


def variances(numbers: NDArray[np.float64], bitmaps: int) -> NDArray[np.float64]:
    """The variance of the estimate of each number of pairs: ``m / I(n / m) - n``, I the information of a bitmap."""
    chances = 0.5 ** np.minimum(np.arange(1, LEVELS + 1), LEVELS - 1)
    grown = np.expm1(np.minimum(np.maximum(numbers, 1e-3)[:, np.newaxis] * chances / bitmaps, 700.0))
    return np.asarray(np.maximum(bitmaps / (chances**2 / grown).sum(axis=1) - numbers, 0.0))
