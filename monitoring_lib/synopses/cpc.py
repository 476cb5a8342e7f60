"""Compressed probabilistic counting by Apache DataSketches: the distinct counter with the smallest image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from datasketches import cpc_sketch, cpc_union

from monitoring_lib.synopses._apache import ApacheSketch


@dataclass(slots=True)
class Cpc(ApacheSketch, tag=34, version=1):
    """A relative standard error of ``0.693 / sqrt(2^size_log2)``: FM's bitmaps, compressed.

    Guarantee and parameters as in `ApacheSketch`.
    """

    SPREAD: ClassVar[float] = 0.693
    SIZES: ClassVar[range] = range(4, 27)

    def _sketch(self) -> Any:
        return cpc_sketch.deserialize(self.image)

    def _fits(self) -> bool:
        return _lengths_are_true(self.image) and bool(self._sketch().lg_k == self.size_log2)

    def _fed(self, words: list[int]) -> bytes:
        sketch = self._sketch() if self.image else cpc_sketch(self.size_log2)
        if sketch.is_empty():  # one that was restored empty says infinity after its first update (5.2.0)
            sketch = cpc_sketch(self.size_log2)
        for word in words:
            sketch.update(word)
        return bytes(sketch.serialize())

    def _joined(self, other: Cpc) -> bytes:
        union = cpc_union(self.size_log2)
        union.update(self._sketch())
        union.update(other._sketch())
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
