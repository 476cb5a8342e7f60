"""One item for each bit that a cell's items set, so that a site can send items in the place of bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from monitoring_lib.codec import Ints, Names
from monitoring_lib.hashing import SPARK_SEED, Hashes, hash_strings
from monitoring_lib.protocols.distinct_count.bits import LEVELS
from monitoring_lib.synopses.base import Synopsis
from monitoring_lib.synopses.hashes import seeded


@dataclass(slots=True)
class NamedBits(Synopsis, tag=60, version=1):
    """The bits of an FM sketch in increasing order, as ``bitmap * LEVELS + level``, each with its smallest item."""

    bits: Ints
    names: Names
    bitmaps: int
    seed: int

    def __post_init__(self) -> None:
        if self.bits.ndim != 1 or len(self.bits) != len(self.names):
            raise ValueError(f"bits: {len(self.names)} expected, one a name, found shape {self.bits.shape}")
        if np.any(np.diff(self.bits) <= 0) or not self._in_range():
            raise ValueError(f"bits: they must increase, from 0 on to below {self.bitmaps * LEVELS}")

    def _in_range(self) -> bool:
        return not len(self.bits) or (self.bits[0] >= 0 and self.bits[-1] < self.bitmaps * LEVELS)

    @classmethod
    def of(cls, names: pa.Array, bitmaps: int, seed: int) -> NamedBits:
        """Of items that increase."""
        bits, first = np.unique(bits_of_names(names, bitmaps, seed), return_index=True)
        return cls(bits, Names(names.take(pa.array(first))), bitmaps, seed)

    def mismatch(self, other: NamedBits) -> str | None:
        if self.bitmaps != other.bitmaps:
            return f"bitmaps: {self.bitmaps} against {other.bitmaps}"
        return f"seed: {self.seed} against {other.seed}" if self.seed != other.seed else None

    @classmethod
    def _merged_all(cls, parts: Sequence[NamedBits]) -> NamedBits:
        named = sorted({name for part in parts for name in part.names})
        return cls.of(pa.array(named, pa.string()), parts[0].bitmaps, parts[0].seed)


def bits_of_names(names: pa.Array, bitmaps: int, seed: int) -> Ints:
    """The bit that each item sets in an FM sketch of this seed."""
    return bits_of_hashes(seeded(hash_strings(names, SPARK_SEED), seed), bitmaps)


def bits_of_hashes(hashes: Hashes, bitmaps: int) -> Ints:
    low = hashes | np.uint64(1 << (LEVELS - 1))
    level = np.bitwise_count((low & (~low + np.uint64(1))) - np.uint64(1)).astype(np.int64)
    at = ((hashes >> np.uint64(32)) * np.uint64(bitmaps)) >> np.uint64(32)
    return at.astype(np.int64) * LEVELS + level
