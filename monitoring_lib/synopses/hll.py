"""HyperLogLog by Apache DataSketches: the distinct counter with the smallest memory while it is updated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from datasketches import hll_sketch, hll_union, tgt_hll_type

from monitoring_lib.synopses._apache import ApacheSketch


@dataclass(slots=True)
class Hll(ApacheSketch, tag=33, version=1):
    """A relative standard error of ``1.04 / sqrt(2^size_log2)``, in one byte an entry.

    Guarantee and parameters as in `ApacheSketch`; it reads the images of Spark's ``hll_sketch_agg``.
    """

    SPREAD: ClassVar[float] = 1.04
    SIZES: ClassVar[range] = range(7, 22)

    def _sketch(self) -> Any:
        return hll_sketch.deserialize(self.image)

    def _fits(self) -> bool:
        sketch = self._sketch()
        return bool(sketch.lg_config_k == self.size_log2 and sketch.tgt_type == tgt_hll_type.HLL_8)

    def _fed(self, words: list[int]) -> bytes:
        sketch = self._sketch() if self.image else hll_sketch(self.size_log2, tgt_hll_type.HLL_8)
        for word in words:
            sketch.update(word)
        return bytes(sketch.serialize_compact())

    def _joined(self, other: Hll) -> bytes:
        union = hll_union(self.size_log2)
        union.update(self._sketch())
        union.update(other._sketch())
        return bytes(union.get_result(tgt_hll_type.HLL_8).serialize_compact())
