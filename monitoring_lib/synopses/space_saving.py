"""Apache DataSketches' frequent items, counters of the SpaceSaving kind: for comparison with ours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa
from datasketches import frequent_items_error_type, frequent_strings_sketch

from monitoring_lib.synopses._confidence import check_tolerance
from monitoring_lib.synopses._items import MOST, as_items, as_weights, check_total, total_of
from monitoring_lib.synopses._sums import sums_by_item
from monitoring_lib.synopses.base import Bound, Synopsis

SIZES = range(3, 27)
_ALL = frequent_items_error_type.NO_FALSE_NEGATIVES
_NOBODY = "\0 an item that nobody has"  # its upper bound is what every counter may lack
_ERROR = 3.5  # DataSketches' own bound, times the slots


@dataclass(slots=True)
class SpaceSaving(Synopsis, tag=42, version=1):
    """Counters in a table of 2^size_log2 slots, three quarters of which it fills, always with::

        low <= exact <= high,   high - low <= 3.5 * total / 2^size_log2

    Whole numbers are named by their decimal digits. Which items it keeps depends on the order of arrival; the
    bound does not. `image` is DataSketches' own, which its other languages read.
    """

    size_log2: int
    image: bytes = b""

    def __post_init__(self) -> None:
        if self.size_log2 not in SIZES:
            raise ValueError(f"size_log2: {self.size_log2} is not within {SIZES[0]} to {SIZES[-1]}")
        if not self.image:
            self.image = frequent_strings_sketch(self.size_log2).serialize()
        if not _lengths_are_true(self.image):
            raise ValueError("image: not one of DataSketches' (its lengths are not those that it states)")
        try:
            sketch = self._sketch()
            fits = sketch.epsilon == _ERROR / (1 << self.size_log2)
            lows = [low for _, _, low, _ in sketch.get_frequent_items(_ALL, 0)]
        except (IndexError, RuntimeError, UnicodeDecodeError) as error:
            raise ValueError(f"image: not one of DataSketches' ({error})") from error
        if not fits:
            raise ValueError(f"image: not one of 2^{self.size_log2} slots")
        total, doubt = sketch.total_weight, sketch.get_upper_bound(_NOBODY)
        if total > MOST or sum(lows) > total or min(lows, default=1) <= 0 or doubt > sketch.epsilon * total:
            raise ValueError(f"image: counters of {sum(lows)} and a doubt of {doubt} do not fit a total of {total}")

    @classmethod
    def for_error(cls, tolerance: float) -> SpaceSaving:
        """The smallest one with ``high - low <= tolerance * total``."""
        check_tolerance(tolerance)
        return cls(max(SIZES[0], math.ceil(math.log2(_ERROR / tolerance))))

    def update(self, items: Any, weights: Any = None) -> None:
        """Adds one batch, summed by item first: the binding takes one item a call."""
        column = as_items(items)
        given = as_weights(weights, len(column))
        check_total("weights", self.total + total_of(given, len(column)))
        column, counts = sums_by_item(column, given)
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
        found = sketch.get_frequent_items(_ALL, math.floor(Fraction(share) * sketch.total_weight))
        return [(name, estimate) for name, estimate, _, _ in found]

    def __len__(self) -> int:
        return int(self._sketch().num_active_items)

    def mismatch(self, other: SpaceSaving) -> str | None:
        if self.size_log2 != other.size_log2:
            return f"size_log2: {self.size_log2} against {other.size_log2}"
        return None

    @property
    def is_neutral(self) -> bool:
        return bool(self._sketch().is_empty())

    @classmethod
    def _merged_all(cls, parts: Sequence[SpaceSaving]) -> SpaceSaving:
        """Which items are kept depends on the order of merging, so it is fixed: that of the images."""
        check_total("parts", sum(part.total for part in parts))
        first, *others = sorted(parts, key=lambda part: part.image)
        sketch = first._sketch()
        for other in others:
            sketch.merge(other._sketch())
        return SpaceSaving(first.size_log2, bytes(sketch.serialize()))

    def _sketch(self) -> Any:
        return frequent_strings_sketch.deserialize(self.image)


def _lengths_are_true(image: bytes) -> bool:
    """Whether the lengths that the image declares are its own: DataSketches 5.2.0 sets that much memory aside before it
    looks."""
    if len(image) < 32:
        return len(image) == 8 and image[4] <= image[3] in SIZES
    counters = int.from_bytes(image[8:12], "little")
    at = 32 + 8 * counters
    for _ in range(counters):
        if at + 4 > len(image):
            return False
        at += 4 + int.from_bytes(image[at : at + 4], "little")
    return at == len(image) and image[4] <= image[3] in SIZES
