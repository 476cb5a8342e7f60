"""The row that a coordinator of this question publishes."""

from __future__ import annotations

import math

from monitoring_lib.answers import Answer, Answers
from monitoring_lib.methods import Ask, Moment
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.geometric.sizes import Sizes

_ROUNDING = 1e-12


def size_row(ask: Ask, sizes: Sizes, moment: Moment, size: float, tolerance: float) -> Answers:
    """One row: f, the arrays' self-join, lies within ``size / (1 + tolerance)`` and ``size / (1 - tolerance)``.

    With exact counters that is the true size. With counters of the relative error c, and N events whatever their
    items, ``f >= (1 - c)^2 F2`` and ``(1 + c) N >= sqrt(f)``, and F2 is at least N: both ends hold always.
    """
    least, most = size / (1 + tolerance), size / (1 - tolerance)
    if sizes.rows is not None:
        error = sizes.counter_error
        least, most = math.sqrt(least) / (1 + error), most / (1 - error) ** 2
    if tolerance or sizes.rows is not None:
        least, most = least * (1 - _ROUNDING), most * (1 + _ROUNDING)
    row = Answer(COORDINATOR, moment.end, "", None, size, min(least, size), max(most, size), 1.0, bool(moment.missing))
    return Answers.of([row])
