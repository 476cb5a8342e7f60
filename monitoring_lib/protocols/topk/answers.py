"""The rows that a coordinator of this family publishes."""

from __future__ import annotations

import math
from collections.abc import Iterable

from monitoring_lib.methods import Answer, Ask, Moment
from monitoring_lib.network import COORDINATOR

Total = tuple[str, int, int | None, int | None]
"""Item, estimate, low, high in scaled units; None where there is no bound."""


def member_rows(ask: Ask, moment: Moment, totals: Iterable[Total]) -> list[Answer]:
    """A ranked row for each total, best first."""
    scale = ask.scale
    return [
        Answer(
            COORDINATOR, moment.end, name, rank, estimate / scale,
            -math.inf if low is None else low / scale, math.inf if high is None else high / scale,
        )
        for rank, (name, estimate, low, high) in enumerate(totals, 1)
    ]  # fmt: skip


def partial_row(ask: Ask, moment: Moment, excess: int | None) -> Answer:
    """Says that, sites being missing, an outsider is only known not to exceed a member by more than this."""
    high = math.inf if excess is None else excess / ask.scale
    return Answer(COORDINATOR, moment.end, "", None, high, 0.0, high)
