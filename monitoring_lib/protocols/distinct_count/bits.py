"""The bits of FM sketches as rows of words: listed, counted by level, packed for the wire."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from monitoring_lib.codec import Ints, Words
from monitoring_lib.synopses.fm import MOST_LEVELS

LEVELS = MOST_LEVELS
BIT_BYTES = 2
"""What a listed bit is reckoned to cost, in bytes."""


def listed(words: Words) -> Ints:
    """The bits that are set, in increasing order, each as ``bitmap * LEVELS + level``."""
    out = np.empty(int(np.bitwise_count(words).sum()), np.int64)
    _list_bits(words, out)
    return out


def words_of(bits: Ints, bitmaps: int) -> Words:
    """The row of words in which these bits are set."""
    words = np.zeros(bitmaps, np.uint64)
    np.bitwise_or.at(words, bits // LEVELS, np.uint64(1) << (bits % LEVELS).astype(np.uint64))
    return words


def counts_by_level(words: Words) -> Ints:
    out = np.zeros(LEVELS, np.int64)
    _count_bits(words, out)
    return out


def costs_by_level(counts: Ints, bitmaps: int) -> Ints:
    """Bytes that so many bits of each level take: listed, or as the level's whole row with its number."""
    return np.minimum(BIT_BYTES * counts, bitmaps // 8 + 1)


def mask_of(levels: Ints) -> np.uint64:
    """A word with the bits of these levels set."""
    return np.uint64(sum(1 << int(level) for level in levels))


@numba.njit(cache=True)
def _list_bits(words: Any, out: Any) -> None:
    filled = 0
    for at in range(len(words)):
        level, word = 0, words[at]
        while word:
            if word & np.uint64(1):
                out[filled] = at * LEVELS + level
                filled += 1
            word >>= np.uint64(1)
            level += 1


@numba.njit(cache=True)
def _count_bits(words: Any, out: Any) -> None:
    for at in range(len(words)):
        level, word = 0, words[at]
        while word:
            out[level] += np.int64(word & np.uint64(1))
            word >>= np.uint64(1)
            level += 1
