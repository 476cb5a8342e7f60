"""How large a sketch must be for what is promised of the published number."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

import numpy as np

from monitoring_lib.synopses._confidence import standard_errors
from monitoring_lib.synopses._fm_errors import deviations
from monitoring_lib.synopses.cpc import Cpc
from monitoring_lib.synopses.fm import MOST_LEVELS, bitmaps_for
from monitoring_lib.synopses.hll import Hll

SketchName = Literal["fm", "hll", "cpc"]
FEWEST_BITMAPS = 16
"""With fewer, estimates scatter so unevenly that bounds at a confidence of 0.95 miss one in twenty, or more."""
MOST_BITMAPS = 1 << 24
_APACHE = {"hll": Hll, "cpc": Cpc}
_MOST_CONFIDENCE = 0.9973  # what DataSketches has bounds for


def largest_lag(error: float) -> float:
    """The lag that would leave nothing of the error to the sketch: with it ``(1 - 0) / (1 + lag) = 1 - error``."""
    return error / (1 - error)


def error_of_sketch(error: float, lag: float, clamped: bool) -> float:
    """What the lag leaves to the sketch. The exact number n and the sketch's estimate D satisfy::

        D * (1 - part) <= n <= D * (1 + lag) / (1 - part),   part = 1 - (1 + lag) * (1 - error)

    An estimate that may be any number between the two bounds needs the root of it (`clamped`).
    """
    kept = (1 + lag) * (1 - error)
    return 1 - (math.sqrt(kept) if clamped else kept)


@lru_cache(maxsize=256)
def bitmaps_needed(error: float, confidence: float, lag: float, clamped: bool) -> int:
    """The fewest bitmaps of an FM sketch whose bounds stay within the error, for few items and for many."""
    part = error_of_sketch(error, lag, clamped)
    low = high = max(bitmaps_for(part, confidence), FEWEST_BITMAPS)
    while not _fit(high, part, confidence):
        low, high = high, 2 * high
        if high > MOST_BITMAPS:
            return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _fit(middle, part, confidence) else (middle, high)
    return high


def _fit(bitmaps: int, part: float, confidence: float) -> bool:
    """Whether for every n an estimate that is as far off as it may be, D, has n within ``D / (1 - part) + 1``."""
    few = np.arange(1.0, 4 / part)
    many = np.geomspace(4 / part, 64 * bitmaps, 60)
    for items in (*few[:: max(1, len(few) // 200)], *many):
        below, above = deviations(items, bitmaps, MOST_LEVELS, confidence)
        if below > items - (items - 1) * (1 - part) or above > (items + 1) / (1 - part) - items:
            return False
    return True


def entries_needed(sketch: SketchName, error: float, confidence: float, lag: float) -> int:
    """The fewest entries of an HLL or CPC sketch, a power of two; `confidence` is at most 0.9973."""
    part = error_of_sketch(error, lag, clamped=False)
    kind = _APACHE[sketch]
    entries = (math.ceil(standard_errors(confidence)) * kind.SPREAD / part) ** 2
    return 1 << max(kind.SIZES[0], math.ceil(math.log2(entries)))


def most_entries(sketch: SketchName) -> int:
    return MOST_BITMAPS if sketch == "fm" else 1 << _APACHE[sketch].SIZES[-1]


def confidence_is_known(sketch: SketchName, confidence: float) -> bool:
    return sketch == "fm" or confidence <= _MOST_CONFIDENCE
