"""Theta sketch by Apache DataSketches: a distinct counter made of sampled hashes, which knows overlaps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from datasketches import compact_theta_sketch, theta_intersection, theta_union, update_theta_sketch

from monitoring_lib.synopses._apache import ApacheSketch


@dataclass(slots=True)
class Theta(ApacheSketch, tag=35, version=2):
    """A relative standard error of ``1 / sqrt(2^size_log2)``, in eight bytes an entry.

    Guarantee and parameters as in `ApacheSketch`; it reads the images of Spark's ``theta_sketch_agg``.
    """

    SPREAD: ClassVar[float] = 1.0
    SIZES: ClassVar[range] = range(5, 27)

    def estimate_common(self, other: Theta) -> float:
        """The number of distinct items that both have seen."""
        reason = self.mismatch(other)
        if reason is not None:
            raise ValueError(f"other: Thetas of unlike making have no intersection: {reason}")
        both = theta_intersection()
        both.update(self._sketch())
        both.update(other._sketch())
        return float(both.get_result().get_estimate())

    def _sketch(self) -> Any:
        return compact_theta_sketch.deserialize(self.image)

    def _fits(self) -> bool:
        return bool(self._sketch().num_retained <= 1 << self.size_log2)

    def _makes_sense(self) -> bool:
        """The kept hashes must lie below theta and reach near it: r of them leave a gap of more than a factor of
        ``2^(64 / r)`` with a probability of 2^-64."""
        sketch = self._sketch()
        kept = np.fromiter(sketch, np.uint64, sketch.num_retained)
        if not len(kept):
            return bool(sketch.is_empty())
        theta, largest = sketch.theta64, int(kept.max())
        near = len(kept) * math.log2(theta / max(largest, 1)) <= 64
        return bool(near and kept.min() > 0 and largest < theta and len(np.unique(kept)) == len(kept))

    def _fed(self, words: list[int]) -> bytes:
        """Images cannot be updated, so new items come in by a union."""
        sketch = update_theta_sketch(self.size_log2)
        for word in words:
            sketch.update(word)
        union = theta_union(self.size_log2)
        union.update(sketch)
        if self.image:
            union.update(self._sketch())
        return bytes(union.get_result().serialize())

    @classmethod
    def _union(cls, size_log2: int, sketches: Sequence[Any]) -> bytes:
        union = theta_union(size_log2)
        for sketch in sketches:
            union.update(sketch)
        return bytes(union.get_result().serialize())
