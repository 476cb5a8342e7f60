"""What a confidence means in standard errors, for every bound that rests on a normal law."""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist


@lru_cache(maxsize=256)
def standard_errors(confidence: float) -> float:
    """z with ``Pr[|X| <= z] = confidence`` for a standard normal X."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence: {confidence} is not between 0 and 1")
    return NormalDist().inv_cdf((1 + confidence) / 2)


def check_tolerance(tolerance: float) -> None:
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance: {tolerance} is not between 0 and 1")
