"""A set of bits of a large and mostly empty array, as a table of the codes of those that are set."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from monitoring_lib.codec import Image, Ints

_LEAST = 64
_CHUNK = 1 << 15
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(slots=True)
class BitTable(Image):
    """Codes from 0 on, each once, in a table with open addressing that is never more than half full.

    Few new codes change few places of the table, so that little is stored when little has changed.
    """

    table: Ints = field(default_factory=lambda: np.zeros(_LEAST, np.int64))
    used: int = 0

    def __post_init__(self) -> None:
        size = len(self.table)
        if self.table.ndim != 1 or size < _LEAST or size & (size - 1) or not 0 <= self.used < size:
            raise ValueError(f"table: {self.used} codes in a table of shape {self.table.shape}")

    def add(self, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Sets the bits of columns of codes, one column after the other; whether a column set any bit anew."""
        fresh = np.zeros(codes.shape[1], np.bool_)
        for start in range(0, codes.shape[1], _CHUNK):
            part = np.ascontiguousarray(codes[:, start : start + _CHUNK])
            self._make_room(part.size)
            self.used += int(_add(self.table, part, fresh[start : start + _CHUNK]))
        return fresh

    def codes(self) -> NDArray[np.int64]:
        """Those that are set, in increasing order."""
        return np.sort(self.table[self.table > 0]) - 1

    def clear(self) -> None:
        self.table, self.used = np.zeros(_LEAST, np.int64), 0

    def _make_room(self, more: int) -> None:
        size = len(self.table)
        while size < 2 * (self.used + more):
            size *= 2
        if size > len(self.table):
            codes, self.table = self.codes(), np.zeros(size, np.int64)
            _add(self.table, codes[np.newaxis], np.zeros(len(codes), np.bool_))


@numba.njit(cache=True)
def _add(table: Any, codes: Any, fresh: Any) -> Any:
    """How many codes are new. A code is kept as one more than it is: 0 stands for an empty slot."""
    size, used = len(table), 0
    for i in range(codes.shape[1]):
        for row in range(codes.shape[0]):
            kept = codes[row, i] + 1
            spread = np.uint64(kept) * _ODD
            at = np.int64((spread ^ (spread >> np.uint64(32))) & np.uint64(size - 1))
            for _ in range(size):
                if table[at] == kept:
                    break
                if table[at] == 0:
                    table[at] = kept
                    used += 1
                    fresh[i] = True
                    break
                at = (at + 1) % size
    return used
