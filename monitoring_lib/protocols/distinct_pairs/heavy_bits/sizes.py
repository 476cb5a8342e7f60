"""How large the array must be for the promise.

With r = error / share, an item at the share and one at share - error are told apart at the middle, half the error
from each. Of that half the sketch of a cell may take 0.3 errors to each side, and collisions 0.15::

    z * 0.65 / sqrt(bitmaps) <= 0.3 r                          the cell's sketch, z one-sided at 1 - failure / 2
    (4 / failure)^(1 / rows) / cells <= 0.15 error             collisions in all rows, by Markov's inequality

The rest is for the number of pairs, whose error is that of a sketch only if one item has nearly all of them.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from monitoring_lib.methods import Ask
from monitoring_lib.protocols.distinct_pairs.layout import Layout

ROWS = 3
_SPREAD = 0.65
_SKETCH, _COLLISIONS = 0.3, 0.15


def one_sided(failure: float) -> float:
    """z with ``Pr[X > z] = failure`` for a standard normal X."""
    return NormalDist().inv_cdf(1 - failure)


def least_bitmaps(ask: Ask) -> int:
    """The fewest bitmaps a cell."""
    ratio = float(ask.params.error / ask.params.share)
    return math.ceil(float(one_sided((1 - ask.confidence) / 2) * _SPREAD / (_SKETCH * ratio)) ** 2)


def least_cells(ask: Ask, rows: int) -> int:
    """The fewest cells a row."""
    meeting = float((4 / (1 - ask.confidence)) ** (1 / rows))
    return math.ceil(meeting / (_COLLISIONS * float(ask.params.error)))


def layout_of(ask: Ask) -> Layout:
    """As the options say, else as small as the promise allows."""
    options = ask.options
    rows = options.rows or ROWS
    return Layout(rows, options.cells or least_cells(ask, rows), options.bitmaps or least_bitmaps(ask), options.seed)
