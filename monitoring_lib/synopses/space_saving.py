"""Apache DataSketches' frequent items, counters of the SpaceSaving kind: for comparison with ours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from datasketches import frequent_items_error_type, frequent_strings_sketch

from monitoring_lib.hashing import as_column
from monitoring_lib.synopses._confidence import check_tolerance
from monitoring_lib.synopses._items import as_weights
from monitoring_lib.synopses._sums import sums_by_item
from monitoring_lib.synopses.base import Bound, Synopsis

SIZES = range(3, 27)
_ERROR = 3.5  # DataSketches' own bound, times the slots


@dataclass(slots=True)
class SpaceSaving(Synopsis, tag=42, version=1):
    """Counters in a table of 2^size_log2 slots, three quarters of which it fills, always with::

        low <= exact <= high,   high - low <= 3.5 * total / 2^size_log2

    Whole numbers are named by their decimal digits. Which items it keeps depends on the order of arrival and
    of merging; the bound does not. `image` is DataSketches' own, which its other languages read.
    """

    size_log2: int
    image: bytes = b""

    def __post_init__(self) -> None:
        if self.size_log2 not in SIZES:
            raise ValueError(f"size_log2: {self.size_log2} is not within {SIZES[0]} to {SIZES[-1]}")
        if not self.image:
            self.image = frequent_strings_sketch(self.size_log2).serialize()
        try:
            fits = self._sketch().epsilon == _ERROR / (1 << self.size_log2)
        except (IndexError, RuntimeError) as error:
            raise ValueError(f"image: not one of DataSketches' ({error})") from error
        if not fits:
            raise ValueError(f"image: not one of 2^{self.size_log2} slots")

    @classmethod
    def for_error(cls, tolerance: float) -> SpaceSaving:
        """The smallest one with ``high - low <= tolerance * total``."""
        check_tolerance(tolerance)
        return cls(max(SIZES[0], math.ceil(math.log2(_ERROR / tolerance))))

    def update(self, items: Any, weights: Any = None) -> None:
        """Adds one batch, summed by item first: the binding takes one item a call."""
        column = as_column(items)
        column, counts = sums_by_item(column, as_weights(weights, len(column)))
        names = pa.array(column).cast(pa.string()).to_pylist()
        sketch = self._sketch()
        for name, count in zip(names, counts.tolist(), strict=True):
            sketch.update(name, count)
        self.image = bytes(sketch.serialize())

    @property
    def total(self) -> int:
        """The sum of all weights."""
        return int(self._sketch().total_weight)

    def estimate(self, item: str | int) -> int:
        """DataSketches' estimate, which is the upper end for an item with a counter and 0 for others."""
        return int(self._sketch().get_estimate(str(item)))

    def bound(self, item: str | int) -> Bound:
        sketch = self._sketch()
        low, high = sketch.get_lower_bound(str(item)), sketch.get_upper_bound(str(item))
        return Bound(low, high, parts={"sketch": float(high - low)})

    def heavy_hitters(self, share: float) -> list[tuple[str, int]]:
        """The items that may occur more than ``share * total`` times with their estimates, most frequent
        first. None that does is missing while ``share >= 3.5 / 2^size_log2``."""
        if not 0 <= share <= 1:
            raise ValueError(f"share: {share} is not between 0 and 1")
        sketch = self._sketch()
        found = sketch.get_frequent_items(
            frequent_items_error_type.NO_FALSE_NEGATIVES, math.floor(share * sketch.total_weight)
        )
        return [(name, estimate) for name, estimate, _, _ in found]

    def __len__(self) -> int:
        return int(self._sketch().num_active_items)

    def mismatch(self, other: SpaceSaving) -> str | None:
        if self.size_log2 != other.size_log2:
            return f"size_log2: {self.size_log2} against {other.size_log2}"
        return None

    def _merged(self, other: SpaceSaving) -> SpaceSaving:
        sketch = self._sketch()
        sketch.merge(other._sketch())
        return SpaceSaving(self.size_log2, bytes(sketch.serialize()))

    def _sketch(self) -> Any:
        return frequent_strings_sketch.deserialize(self.image)
