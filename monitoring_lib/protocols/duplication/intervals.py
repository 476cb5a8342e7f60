"""Bounds from a sample in which each of the different items stands with one probability, exact for few and for many."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist

from scipy.special import bdtr, betainc, betaincinv

_WIDTH = 6
"""Of bounds, in units of 1 / sqrt(capacity)."""
_WIDEST_REACH = 2.9
"""Standard errors to each side that fit into this width, if the sample is as full as levels in small steps keep it."""
_MARGIN = 1.05
"""The sample varies in size, and exact bounds are a little wider than the normal law's."""


def number(sampled: int, chance: float, confidence: float) -> tuple[float, float]:
    """The numbers n for which a Binomial(n, chance) is this small, or this large, with more than half the failure."""
    if chance == 1:
        return float(sampled), float(sampled)
    tail = (1 - confidence) / 2

    def is_large_enough(n: int) -> bool:
        """Pr[Binomial(n) >= sampled] > tail."""
        return sampled == 0 or (n >= sampled and betainc(sampled, n - sampled + 1, chance) > tail)

    def is_too_large(n: int) -> bool:
        """Pr[Binomial(n) <= sampled] <= tail."""
        return n > sampled and betainc(n - sampled, sampled + 1, 1 - chance) <= tail

    return float(_first(is_large_enough, sampled)), float(_first(is_too_large, sampled) - 1)


def share(satisfying: int, sampled: int, chance: float, confidence: float) -> tuple[float, float]:
    """Clopper and Pearson's interval; drawing without replacement only makes it safer."""
    if chance == 1:
        return satisfying / sampled, satisfying / sampled
    tail = (1 - confidence) / 2
    low = float(betaincinv(satisfying, sampled - satisfying + 1, tail)) if satisfying else 0.0
    high = float(betaincinv(satisfying + 1, sampled - satisfying, 1 - tail)) if satisfying < sampled else 1.0
    return low, high


def ranks(quantile: float, sampled: int, confidence: float) -> tuple[int, int]:
    """Ranks r..s of a sorted sample between which the quantile lies; 0 and `sampled` + 1 stand for no bound.

    ``Pr[Binomial(sampled, quantile) < r] <= tail`` and ``Pr[Binomial(sampled, quantile) >= s] <= tail``.
    """
    tail = (1 - confidence) / 2
    low = _first(lambda rank: rank > sampled or bdtr(rank - 1, sampled, quantile) > tail, 1) - 1
    high = _first(lambda rank: rank > sampled or 1 - bdtr(rank - 1, sampled, quantile) <= tail, 1)
    return low, high


def widest(capacity: int, confidence: float) -> float:
    """``6 / sqrt(capacity)``; above a confidence of 0.996 more, as much as the normal law asks for."""
    return _WIDTH / math.sqrt(capacity) * max(_reach(confidence) / _WIDEST_REACH, 1.0)


def least_filled(confidence: float) -> float:
    """The part of its capacity that a sample must keep, for the bounds of a number to be no wider than that."""
    return _MARGIN * (2 * _reach(confidence) / _WIDTH) ** 2


def _reach(confidence: float) -> float:
    """Standard errors to each side of an estimate, by the normal law."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def narrowed(estimate: float, low: float, high: float, width: float) -> tuple[float, float]:
    """The interval shrunk towards its estimate to at most this width."""
    if high - low <= width:
        return low, high
    kept = width / (high - low)
    return estimate - (estimate - low) * kept, estimate + (high - estimate) * kept


def _first(holds: Callable[[int], bool], start: int) -> int:
    """The least whole number from `start` on for which a condition, false below it and true above it, holds."""
    if holds(start):
        return start
    step = 1
    while not holds(start + step):
        step *= 2
    low, high = start + step // 2, start + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def rank_of(quantile: float, sampled: int) -> int:
    """The rank of the smallest value that at least this share of a sorted sample does not exceed."""
    return max(math.ceil(Fraction(str(quantile)) * sampled), 1)
