"""The rows that a coordinator of this family publishes."""

from __future__ import annotations

from collections.abc import Iterable

from monitoring_lib.methods import Answer, Ask, Moment
from monitoring_lib.network import COORDINATOR


def member_rows(ask: Ask, moment: Moment, totals: Iterable[tuple[str, float, float, float]]) -> list[Answer]:
    """A ranked row for each (item, estimate, low, high), best first, given in scaled units."""
    scale = ask.scale
    return [
        Answer(COORDINATOR, moment.end, name, rank, estimate / scale, low / scale, high / scale)
        for rank, (name, estimate, low, high) in enumerate(totals, 1)
    ]


def partial_row(ask: Ask, moment: Moment, excess: float) -> Answer:
    """Says that, sites being missing, an outsider is only known not to exceed a member by more than this."""
    return Answer(COORDINATOR, moment.end, "", None, excess / ask.scale, 0.0, excess / ask.scale)
