"""Rows of hashed columns: where the cells of an item lie in a Count-Min array."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from monitoring_lib.codec import Image
from monitoring_lib.hashing import SPARK_SEED, Hashes, draw, hash_items
from monitoring_lib.synopses._items import as_items
from monitoring_lib.synopses.hashes import as_hashes

CellColumns = NDArray[np.int32]

_MOST_CELLS = 1 << 27
_MOST_ROWS = 64
_ROUNDING = 2.0**-50
"""A few units in the last place of a float: more than the arithmetic of a bound can be off by."""
_HALF = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)


@dataclass(slots=True)
class HashRows(Image):
    """`depth` functions, each of which sends an item to one of `width` columns.

    Each row is Thorup's pair-multiply-shift of the item's 64-bit hash: strongly universal, so that two items
    share a column with probability at most ``1 / width + 2 ** -32``. The hash itself is XXH64 with Spark's seed,
    the same for every synopsis: an item is hashed once for all of them, or already by Spark.

    Rows that are not `hashed` serve whole numbers below `width`: a single row in which no two items share a column.
    """

    depth: int
    width: int
    seed: int
    hashed: bool = True
    _constants: Hashes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.depth < 1 or self.width < 1 or self.depth * self.width > _MOST_CELLS:
            raise ValueError(
                f"depth, width: {self.depth} x {self.width} cells; at least one and at most {_MOST_CELLS} can be made"
            )
        if self.depth > _MOST_ROWS:
            raise ValueError(f"depth: {self.depth} rows; more than {_MOST_ROWS} make no answer more certain")
        if not self.hashed and self.depth != 1:
            raise ValueError(f"depth: {self.depth} rows that are not hashed would all be the same one")
        self._constants = draw(self.seed, 3 * self.depth).reshape(self.depth, 3)

    @classmethod
    def for_error(cls, error: float, confidence: float, seed: int) -> HashRows:
        """Rows in which collisions add at most ``error * N`` with probability `confidence` at least."""
        if not 0 < error < 1:
            raise ValueError(f"error: {error} is not between 0 and 1")
        if not 0 < confidence < 1:
            raise ValueError(f"confidence: {confidence} is not between 0 and 1")
        return cls(max(1, math.ceil(-math.log1p(-confidence) - 1e-9)), math.ceil(math.e / error), seed)

    @property
    def error(self) -> float:
        """Collisions add at most this share of all arrivals, with probability `confidence`."""
        return math.e / self.width if self.hashed else 0.0

    @property
    def confidence(self) -> float:
        return 1 - math.exp(-self.depth) if self.hashed else 1.0

    @property
    def cells(self) -> int:
        return self.depth * self.width

    def keys(self, items: Any) -> Hashes:
        """What `columns` places: the hashes of items, or the items themselves where rows are not hashed."""
        column = as_items(items)
        if self.hashed:
            return hash_items(column, SPARK_SEED)
        if not isinstance(column, np.ndarray):
            raise ValueError("items: rows that are not hashed take whole numbers only")
        if len(column) and not (column.min() >= 0 and column.max() < self.width):
            raise ValueError(f"items: {column.min()} to {column.max()} found, 0 to {self.width - 1} allowed")
        return column.astype(np.uint64)

    def keys_of_hashes(self, hashes: Any) -> Hashes:
        """The same for items that are given by their hashes."""
        if not self.hashed:
            raise ValueError("hashes: rows that are not hashed take the items themselves")
        return as_hashes(hashes)

    def key(self, item: str | int) -> Hashes:
        """The key of one item."""
        return self.keys([item])

    def columns(self, row: int, keys: Hashes, out: CellColumns | None = None) -> CellColumns:
        """The column of each key in a row."""
        if not self.hashed:
            return keys.astype(np.int32)
        found = np.empty(len(keys), np.int32) if out is None else out[: len(keys)]
        _columns(keys, self._constants, row, self.width, found)
        return found

    def mismatch(self, other: HashRows) -> str | None:
        for name in ("depth", "width", "seed", "hashed"):
            if getattr(self, name) != getattr(other, name):
                return f"{name}: {getattr(self, name)} against {getattr(other, name)}"
        return None


def without_collisions(cells: NDArray[np.float64], error: float, total: float) -> NDArray[np.float64]:
    """The least that cells can hold of their own if others add at most ``error * (total - own)``, in whole events."""
    if error >= 1:
        return np.zeros_like(cells)
    own = (cells - error * total * (1 + _ROUNDING)) / (1 - error)
    return at_least(np.clip(own, 0, cells))


def at_least(low: NDArray[np.float64]) -> NDArray[np.float64]:
    """A lower bound of whole numbers, rounded up but for what floating point may have added."""
    return np.ceil(low * (1 - _ROUNDING))


def at_most(high: NDArray[np.float64]) -> NDArray[np.float64]:
    """An upper bound of whole numbers, rounded down but for what floating point may have taken."""
    return np.floor(high * (1 + _ROUNDING))


@numba.njit(cache=True)
def _columns(keys: Any, constants: Any, row: Any, width: Any, out: Any) -> None:
    first, second, third = constants[row, 0], constants[row, 1], constants[row, 2]
    columns = np.uint64(width)
    for i in range(len(out)):
        key = keys[i]
        mixed = ((first + (key >> _HALF)) * (second + (key & _LOW_HALF)) + third) >> _HALF
        out[i] = np.int32((mixed * columns) >> _HALF)
