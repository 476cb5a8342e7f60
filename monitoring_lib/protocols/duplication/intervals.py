"""Bounds from a sample in which each of the different items stands with one probability, exact for few and for many."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist

from scipy.special import bdtr, betainc, betaincinv


def number(sampled: int, level: int, confidence: float) -> tuple[float, float]:
    """The numbers n for which a Binomial(n, 2^-level) is this small, or this large, with more than half the failure."""
    if level == 0:
        return float(sampled), float(sampled)
    chance, tail = 0.5**level, (1 - confidence) / 2

    def is_large_enough(n: int) -> bool:
        """Pr[Binomial(n) >= sampled] > tail."""
        return sampled == 0 or (n >= sampled and betainc(sampled, n - sampled + 1, chance) > tail)

    def is_too_large(n: int) -> bool:
        """Pr[Binomial(n) <= sampled] <= tail."""
        return n > sampled and betainc(n - sampled, sampled + 1, 1 - chance) <= tail

    return float(_first(is_large_enough, sampled)), float(_first(is_too_large, sampled) - 1)


def share(satisfying: int, sampled: int, level: int, confidence: float) -> tuple[float, float]:
    """Clopper and Pearson's interval; drawing without replacement only makes it safer."""
    if level == 0:
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
    """``6 / sqrt(capacity)``; above a confidence of 0.95 more, as much as the normal law asks for."""
    usual = NormalDist().inv_cdf(0.975)
    return 6 / math.sqrt(capacity) * max(NormalDist().inv_cdf((1 + confidence) / 2) / usual, 1.0)


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
