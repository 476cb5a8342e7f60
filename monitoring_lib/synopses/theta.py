"""Theta sketch by Apache DataSketches: a distinct counter made of sampled hashes, which knows overlaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from datasketches import compact_theta_sketch, theta_intersection, theta_union, update_theta_sketch

from monitoring_lib.synopses._apache import ApacheSketch


@dataclass(slots=True)
class Theta(ApacheSketch, tag=35, version=1):
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

    def _joined(self, other: Theta) -> bytes:
        union = theta_union(self.size_log2)
        union.update(self._sketch())
        union.update(other._sketch())
        return bytes(union.get_result().serialize())
