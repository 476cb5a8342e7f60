"""What the exact counts of a cell would take as bytes: what shipping everything is compared with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from monitoring_lib.summaries import TICK, Rows

_IMAGE = 16
_TICK_BYTES = 4
SAMPLED = 1024
"""Keys of which a sample tells how many there are: a relative standard error of 1 / sqrt(1024), 3 %."""


def shipping_of(rows: Rows, letters: NDArray[np.int32]) -> int:
    """The bytes of `Counts` with these rows; `letters` holds the bytes of the texts of each."""
    if not len(rows):
        return _IMAGE
    extremes = pc.min_max(rows.values)
    largest = max(-extremes["min"].as_py(), extremes["max"].as_py())
    return _IMAGE + _named(letters) + len(rows) * (_width(largest) + _TICK_BYTES * (TICK in rows.keys))


def shipping_of_sample(keys: int, letters: NDArray[np.int32], events: int, ticks: bool = False) -> int:
    """The bytes of `Counts` with so many keys and events, where some of the keys have these lengths."""
    entry = _named(letters) / max(len(letters), 1)
    return _IMAGE + round(keys * (entry + _width(events) + _TICK_BYTES * ticks))


def _named(lengths: NDArray[np.int32]) -> int:
    """Bytes of texts with the lengths in front of them."""
    return int(lengths.sum(dtype=np.int64) + len(lengths) + (lengths >= 32).sum() + (lengths >= 256).sum())


def _width(largest: int) -> int:
    return next(width for width in (1, 2, 4, 8, 16) if largest < 1 << (8 * width - 1))


@dataclass(frozen=True)
class KeySample:
    """The different keys with the smallest hashes, at most `SAMPLED`, and the bytes of their texts.

    It is the same whatever the parts it is put together of. Of n keys with the k-th smallest hash at a share u
    of the range, ``(k - 1) / u`` is an unbiased estimate of n (Bar-Yossef et al., Counting distinct elements in a
    data stream, 2002).
    """

    hashes: NDArray[np.uint64]
    letters: NDArray[np.int32]

    @classmethod
    def none(cls) -> KeySample:
        return cls(np.empty(0, np.uint64), np.empty(0, np.int32))

    def joined(self, hashes: NDArray[np.uint64], letters: NDArray[np.int32]) -> KeySample:
        """The sample with more keys. A few come first: they set a limit that most of the others are beyond."""
        sample, at, size = self, 0, 4 * SAMPLED
        while at < len(hashes):
            sample = sample._joined(hashes[at : at + size], letters[at : at + size])
            at, size = at + size, 4 * size
        return sample

    def _joined(self, hashes: NDArray[np.uint64], letters: NDArray[np.int32]) -> KeySample:
        if len(self.hashes) == SAMPLED:
            small = np.flatnonzero(hashes < self.hashes[-1])
            hashes, letters = hashes[small], letters[small]
        kept, first = np.unique(np.concatenate([self.hashes, hashes]), return_index=True)
        lengths = np.concatenate([self.letters, letters])
        return KeySample(kept[:SAMPLED], lengths[first[:SAMPLED]])

    @property
    def keys(self) -> int:
        """About how many different keys there are; exact if fewer than `SAMPLED`."""
        if len(self.hashes) < SAMPLED:
            return len(self.hashes)
        return round((SAMPLED - 1) * 2**64 / int(self.hashes[-1]))

    def shipping(self, events: int, ticks: bool) -> int:
        """The bytes of exact counts of so many events."""
        return shipping_of_sample(self.keys, self.letters, events, ticks)
