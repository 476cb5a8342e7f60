"""Ranks among different pairs, from FM sketches of dyadic ranges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.protocols.distinct_pairs.layout import LEVELS
from monitoring_lib.synopses.fm import likelihood_of_levels


class DyadicShares:
    """A distribution over the numbers below 2^bits: each range's share is divided among its halves by their estimates.

    So the shares of ranges that begin at 0 never fall. With s = 0.65 / sqrt(bitmaps) the standard error of a sketch,
    that of a share up to any number is at most 0.425 s: a half with the part p of its range errs by
    ``sqrt(2) p (1 - p) s`` of the range, and the sum over the heights is largest for p = 0.62 in all of them.
    """

    def __init__(self, codes: NDArray[np.int64], bits: int, bitmaps: int) -> None:
        """`codes` in increasing order: number times the bits of a sketch, plus the bit."""
        self._height, self._width, self._bitmaps = bits, bitmaps * LEVELS, bitmaps
        self._numbers, self._bits = codes // self._width, codes % self._width
        self._known: dict[tuple[int, int], float] = {}

    def first_above(self, share: float, strictly: bool = False) -> int:
        """The smallest number up to which at least (or more than) this share lies; the largest there is if none."""
        number, passed, mass = 0, 0.0, 1.0
        for height in reversed(range(self._height)):
            left, right = self._estimate(2 * number, height), self._estimate(2 * number + 1, height)
            part = mass * left / (left + right)
            reached = passed + part > share if strictly else passed + part >= share
            number *= 2
            if right == 0.0 or (reached and left > 0.0):
                mass = part
            else:
                number, passed, mass = number + 1, passed + part, mass - part
        return number

    def _estimate(self, at: int, height: int) -> float:
        """The different pairs in a range of 2^height numbers."""
        if (at, height) not in self._known:
            ends = np.searchsorted(self._numbers, (at << height, (at + 1) << height))
            bits = np.unique(self._bits[ends[0] : ends[1]])
            set_at = np.bincount(bits % LEVELS, minlength=LEVELS).astype(np.int64)
            self._known[at, height] = float(likelihood_of_levels(set_at[np.newaxis], self._bitmaps)[0])
        return self._known[at, height]
