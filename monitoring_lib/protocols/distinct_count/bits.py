"""The bits of FM sketches as rows of words: listed, counted by level, packed for the wire."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from monitoring_lib.codec import Ints, Words
from monitoring_lib.synopses.fm import MOST_LEVELS

LEVELS = MOST_LEVELS
_NEAR = 128
"""Gaps below it take one byte."""


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
    """Bytes that so many bits of each level are reckoned to take: listed, or as the level's whole row with its number.

    A listed bit takes a byte, and one more where the gap before it is wide, which few of a level's can be.
    """
    return np.minimum(counts + np.minimum(counts, bitmaps // _NEAR + 1), bitmaps // 8 + 1)


def packed_by_level(words: Words) -> bytes:
    """The bits that are set, level by level, as gaps: seven bits of a gap in each byte, the lowest first."""
    by_level = np.sort((listed(words) % LEVELS) * len(words) + listed(words) // LEVELS)
    gaps = np.diff(by_level, prepend=-1) - 1
    lengths = 1 + sum((gaps >= _NEAR**more).astype(np.int64) for more in range(1, 5))
    starts, out = np.cumsum(lengths) - lengths, np.empty(int(lengths.sum()), np.uint8)
    for at in range(int(lengths.max(initial=0))):
        reaching = lengths > at
        goes_on = (lengths[reaching] > at + 1) * _NEAR
        out[starts[reaching] + at] = (gaps[reaching] >> 7 * at) % _NEAR + goes_on
    return out.tobytes()


def unpacked_by_level(packed: bytes, bitmaps: int) -> Ints:
    """The bits that were packed, each as ``bitmap * LEVELS + level``; ValueError for what no such bitmaps hold."""
    octets = np.frombuffer(packed, np.uint8).astype(np.int64)
    if not len(octets):
        return octets
    ends = np.flatnonzero(octets < _NEAR)
    starts = np.concatenate([[0], ends + 1])[:-1]
    if ends[-1:].tolist() != [len(octets) - 1] or (ends - starts).max() > 4:
        raise ValueError("a gap does not end")
    places = np.arange(len(octets)) - np.repeat(starts, ends - starts + 1)
    by_level = np.cumsum(np.add.reduceat(octets % _NEAR << 7 * places, starts) + 1) - 1
    if by_level[-1] >= bitmaps * LEVELS:
        raise ValueError("a bit lies beyond the last level")
    bits: Ints = by_level % bitmaps * LEVELS + by_level // bitmaps
    return bits


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
