"""Compressed probabilistic counting by Apache DataSketches: the distinct counter with the smallest image."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from datasketches import cpc_sketch, cpc_union

from monitoring_lib.synopses._apache import ApacheSketch

_COLUMNS = 64
_OF_STREAM = 4  # the flag of a sketch that was never merged and keeps the better estimator of one stream


@dataclass(slots=True)
class Cpc(ApacheSketch, tag=34, version=2):
    """A relative standard error of ``0.693 / sqrt(2^size_log2)``: FM's bitmaps, compressed.

    Guarantee and parameters as in `ApacheSketch`.
    """

    SPREAD: ClassVar[float] = 0.693
    SIZES: ClassVar[range] = range(4, 27)

    def _sketch(self) -> Any:
        return cpc_sketch.deserialize(self.image)

    def _fits(self) -> bool:
        """It must also be what DataSketches writes for what it reads: it does not look whether compressed entries lie
        within the sketch, and writes over foreign memory when such a sketch is merged."""
        if not _lengths_are_true(self.image) or self.image[3] != self.size_log2 or self.image[4] >= _COLUMNS:
            return False
        return bytes(self._sketch().serialize()) == self.image

    def _makes_sense(self) -> bool:
        """The number of coupons must be that of the entries; the estimate of the stream and the chance of another
        coupon, which it is updated with, must be near those that this number of coupons gives."""
        if self._sketch().is_empty():
            return True
        rebuilt = cpc_union(self.size_log2)
        rebuilt.update(self._sketch())
        by_coupons = rebuilt.get_result()
        if by_coupons.serialize()[8:12] != self.image[8:12]:
            return False
        if not self.image[5] & _OF_STREAM:
            return True
        chance, of_stream = struct.unpack_from("<dd", self.image, 16)
        entries, estimate = 1 << self.size_log2, by_coupons.get_estimate()
        levels = np.exp2(-np.arange(1, 65.0))
        expected = entries * float((levels * np.exp(-estimate * levels / entries)).sum())
        factor = 2 if entries >= 64 else 4
        return bool(
            estimate / factor <= of_stream <= estimate * factor and expected / factor <= chance <= expected * factor
        )

    def _fed(self, words: list[int]) -> bytes:
        sketch = self._sketch() if self.image else cpc_sketch(self.size_log2)
        if sketch.is_empty():  # one that was restored empty says infinity after its first update (5.2.0)
            sketch = cpc_sketch(self.size_log2)
        for word in words:
            sketch.update(word)
        return bytes(sketch.serialize())

    @classmethod
    def _union(cls, size_log2: int, sketches: Sequence[Any]) -> bytes:
        union = cpc_union(size_log2)
        for sketch in sketches:
            union.update(sketch)
        return bytes(union.get_result().serialize())


def _lengths_are_true(image: bytes) -> bool:
    """Whether the lengths that the image declares are its own: DataSketches 5.2.0 sets that much memory aside
    before it looks, and a forged image can ask for many gigabytes."""
    if len(image) < 8:
        return False
    table, window, hip = (bool(image[5] & 1 << flag) for flag in (3, 4, 2))
    if not (table or window):
        return len(image) == 8
    most_coupons = 64 << min(image[3], 26)
    at = 8 + 4 * (1 + (table and window))
    counts = [int.from_bytes(image[start : start + 4], "little") for start in range(8, at, 4)]
    at += 16 * (table and window and hip)
    words = [int.from_bytes(image[at + 4 * i : at + 4 * i + 4], "little") for i in range(table + window)]
    at += 4 * len(words) + 16 * (hip and not (table and window))
    return max(counts) <= most_coupons and len(image) == at + 4 * sum(words)
