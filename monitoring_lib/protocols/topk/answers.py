"""The rows that a coordinator of this family publishes."""

from __future__ import annotations

import math
from collections.abc import Iterable

from monitoring_lib.answers import Answer, Answers
from monitoring_lib.methods import Ask, Moment
from monitoring_lib.network import COORDINATOR

Total = tuple[str, int, int | None, int | None]
"""Item, estimate, low, high in scaled units; None where there is no bound."""


def member_rows(ask: Ask, moment: Moment, totals: Iterable[Total], unproved: bool = False) -> Answers:
    """A ranked row for each total, best first.

    The rows are partial where sites that are missing leave the set `unproved`, and where a window moves on while
    such a site cannot say what leaves it.
    """
    scale, partial = ask.scale, unproved or (ask.window.length is not None and bool(moment.missing))
    return Answers.of(
        Answer(
            COORDINATOR, moment.end, name, rank, estimate / scale,
            -math.inf if low is None else low / scale, math.inf if high is None else high / scale, partial=partial,
        )
        for rank, (name, estimate, low, high) in enumerate(totals, 1)
    )  # fmt: skip
