"""Gradient: how a node lowers counts, by the paper's algorithms 1a and 2a, or 1b and 2b.

Both lower every count by at most ``share * total`` and drop what is not above 0. `a` lowers by exactly that. `b` lowers
by the (K+1)-th largest count, ``K = ceil(1 / share) - 1``, if there are more than K: each of K+1 counts is at least
as large, so that it is at most ``total / (K+1) <= share * total``. The paper's b works through the counts one by one
and depends on their order; this form does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Algorithm = Literal["a", "b"]

DUST = 1e-12
"""Share of the total up to which a count is 0: what exact numbers would make 0, doubles leave as that much."""


def lowered(counts: NDArray[Any], by: float, total: float) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Which counts stay above 0, and what of each is left."""
    if not by:
        return counts > 0, counts
    left = counts - by
    return left > DUST * total, left


def amount_a(counts: NDArray[Any], share: Fraction, total: float) -> float:
    return float(share) * total


def amount_b(counts: NDArray[Any], share: Fraction, total: float) -> float:
    if not share:
        return 0.0
    most = math.ceil(1 / share) - 1
    if len(counts) <= most:
        return 0.0
    return float(np.partition(counts, len(counts) - most - 1)[len(counts) - most - 1])


AMOUNTS: dict[Algorithm, Callable[[NDArray[Any], Fraction, float], float]] = {"a": amount_a, "b": amount_b}
