"""Curves: sources measure their rates at several widths, the coordinator solves a linear programme over them."""

from __future__ import annotations

from monitoring_lib.protocols.aggregates.curves.policy import CurvesPolicy
from monitoring_lib.protocols.aggregates.family import AggregatesMethod
from monitoring_lib.protocols.aggregates.letters import Agreed, Curves, NewBounds, NewWidths


class RateCurves(AggregatesMethod):
    """Ours: the best widths for the rates that were measured, waterfilled ones until then."""

    name = "curves"
    letters = (NewBounds, NewWidths, Agreed, Curves)
    Policy = CurvesPolicy
