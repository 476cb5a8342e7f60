"""What the root keeps from epoch to epoch in doubles, and how far that can be off."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from monitoring_lib.answers import Answers
from monitoring_lib.methods import Ask, Moment
from monitoring_lib.names import Names
from monitoring_lib.network import COORDINATOR

VANISHED = 1e-300
"""A decayed total below this is 0: its next factor would leave the range of doubles."""
_ROUNDING = 2.0**-49
"""Share of the total by which the operations of one epoch, each off by at most 2^-53, can be off together."""
_EXACT = 2.0**53


def drift_after(ask: Ask, drift: float, total: float, whole: bool = True) -> float:
    """How far the root's numbers may be off after an epoch that ends with this total.

    Every operation is off by at most 2^-53 of its result, which is at most the total, and what it was off decays
    with the number. `whole` numbers are exact as long as they do not decay and doubles hold them.
    """
    if whole and ask.params.decay == 1 and total < _EXACT:
        return drift
    return float(ask.params.decay) * drift + _ROUNDING * total


def share_below(share: Fraction, total: float) -> float:
    """``share * total``, rounded down."""
    exact = share * Fraction(total)
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, -math.inf)


def published(
    ask: Ask, moment: Moment, total: float, drift: float, names: Names,
    estimate: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64],
) -> Answers:  # fmt: skip
    """The rows of the root: the total, then the items by estimate, ties by name.

    Bounds are widened by what doubles can be off, so that the exact numbers truly lie between them.
    """
    if total <= 0:
        return Answers.of()
    order = np.lexsort((pc.rank(names.column, tiebreaker="first").to_numpy(), -estimate))
    low, high = np.maximum(low[order] - drift, 0), high[order] + drift
    estimate = np.clip(estimate[order], low, high)
    rows, scale = len(order) + 1, ask.scale

    def column(of_total: float, of_items: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.concatenate([[of_total], of_items]) / scale

    return Answers.columns(
        rows,
        {
            "node": COORDINATOR, "tick": moment.end, "key": ["", *names.column.take(order).to_pylist()],
            "rank": [None, *range(1, rows)], "estimate": column(total, estimate),
            "low": column(max(total - drift, 0), low), "high": column(total + drift, high),
            "partial": bool(moment.missing),
        },
    )  # fmt: skip
