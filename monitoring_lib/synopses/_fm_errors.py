"""How far the estimate of a Flajolet-Martin sketch may be off, for any number of items, few or many.

Under the likelihood, n items leave a variance of ``m / I(n / m) - n``, with m bitmaps, p_r the chance of level r and
``I(x) = sum of p_r^2 / (e^(p_r x) - 1)`` the information of a bitmap: the variance that a Poisson number of items
would give, less that of the Poisson itself. For n >> m its root is about ``0.65 n / sqrt(m)``, for n << m it is
``n / sqrt(6 m)``: the root of the expected number of items that share a bit with an earlier one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from monitoring_lib.synopses._confidence import standard_errors

BIAS = 0.36
"""The bias of the estimate, relative, times the number of bitmaps."""
_HALF = 0.5  # for a number of items that is whole
_MANY = 50.0
_LARGEST = 2.0**80


def standard_error(items: float, bitmaps: int, levels: int) -> float:
    """The relative standard error of the estimate of so many items; infinite where all bits are likely to be set."""
    return math.sqrt(_variance(items, bitmaps, levels)) / items if items > 0 else 0.0


def deviations(items: float, bitmaps: int, levels: int, confidence: float) -> tuple[float, float]:
    """How far the estimate of so many items stays below and above them, with this confidence for both together.

    Few items fall below their number by whole collisions, which are Poisson; many spread normally to both sides.
    """
    variance, z = _variance(items, bitmaps, levels), standard_errors(confidence)
    slack = z * math.sqrt(variance) + BIAS / bitmaps * items
    return max(slack, _poisson_reach(variance, (1 + confidence) / 2, z)) + _HALF, slack + _HALF


def interval(estimate: float, bits: int, bitmaps: int, levels: int, confidence: float) -> tuple[float, float]:
    """The numbers of items that may well have led to this estimate and so many set bits, each an item at least."""
    if not bits:
        return 0.0, 0.0
    if math.isinf(estimate):
        return float(bits), math.inf
    low = _first(lambda n: estimate - n <= deviations(n, bitmaps, levels, confidence)[1], float(bits))
    high = _first(lambda n: n - estimate > deviations(n, bitmaps, levels, confidence)[0], float(bits))
    return float(math.ceil(low)), float(max(bits, math.floor(high))) if math.isfinite(high) else high


def _variance(items: float, bitmaps: int, levels: int) -> float:
    return float(_variance_of(items, bitmaps, levels))


@numba.njit(cache=True)
def _variance_of(items: Any, bitmaps: Any, levels: Any) -> Any:
    if items == 0.0:
        return 0.0
    information = 0.0
    for level in range(levels):
        chance = 0.5 ** min(level + 1, levels - 1)
        information += chance * chance / np.expm1(min(chance * items / bitmaps, 700.0))
    return max(bitmaps / information - items, 0.0) if information > 0.0 else np.inf


def _poisson_reach(mean: float, share: float, z: float) -> float:
    """How far a Poisson number of this mean exceeds it, but for the rest of the share."""
    if mean > _MANY:
        return z * math.sqrt(mean) + z * z / 6
    chance = below = math.exp(-mean)
    number = 0
    while below < share and number < 1000:
        number += 1
        chance *= mean / number
        below += chance
    return number - mean


def _first(holds: Callable[[float], bool], start: float) -> float:
    """The least number from `start` on for which a condition, false below it and true above it, holds."""
    if holds(start):
        return start
    low, high = start, 2 * start
    while not holds(high):
        low, high = high, 2 * high
        if high > _LARGEST:
            return math.inf
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
