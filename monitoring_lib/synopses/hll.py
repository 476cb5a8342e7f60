"""HyperLogLog by Apache DataSketches: the distinct counter with the smallest memory while it is updated."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from datasketches import hll_sketch, hll_union, tgt_hll_type

from monitoring_lib.synopses._apache import ApacheSketch

_REGISTERS_MODE = 2  # of the three forms of an image: a list of coupons, a set of them, registers
_MERGED = 16  # the flag of a sketch that has lost the order of its stream, and its better estimator with it


@dataclass(slots=True)
class Hll(ApacheSketch, tag=33, version=2):
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

    def _makes_sense(self) -> bool:
        """The two sums of ``2^-register`` and the number of empty registers must be those of the registers, and the
        estimate of the stream near the one that the registers give: within a factor of two, eleven standard errors."""
        image, entries = self.image, 1 << self.size_log2
        if image[7] & 3 != _REGISTERS_MODE:
            return True
        registers = np.frombuffer(image, np.uint8, entries, offset=40)
        of_stream, low_sum, high_sum, empty = struct.unpack_from("<dddI", image, 8)
        parts = np.exp2(-registers.astype(np.float64))
        sums = parts[registers < 32].sum(), parts[registers >= 32].sum()
        unused = int(np.count_nonzero(registers == 0))
        if registers.max() > 63 or not np.allclose((low_sum, high_sum), sums, rtol=1e-9, atol=0) or empty != unused:
            return False
        if image[5] & _MERGED:
            return True
        estimate = 0.7213 * entries**2 / sum(sums)
        if unused and estimate < 3 * entries:
            estimate = entries * math.log(entries / unused)
        return bool(estimate / 2 <= of_stream <= estimate * 2)

    def _fed(self, words: list[int]) -> bytes:
        sketch = self._sketch() if self.image else hll_sketch(self.size_log2, tgt_hll_type.HLL_8)
        for word in words:
            sketch.update(word)
        return bytes(sketch.serialize_compact())

    @classmethod
    def _union(cls, size_log2: int, sketches: Sequence[Any]) -> bytes:
        union = hll_union(size_log2)
        for sketch in sketches:
            union.update(sketch)
        return bytes(union.get_result(tgt_hll_type.HLL_8).serialize_compact())
