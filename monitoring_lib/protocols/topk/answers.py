"""The rows that a coordinator of this family publishes."""

from __future__ import annotations

import math
from collections.abc import Iterable

from monitoring_lib.answers import Answer, Answers
from monitoring_lib.methods import Ask, Moment
from monitoring_lib.network import COORDINATOR

Total = tuple[str, int, int | None, int | None]
"""Item, estimate, low, high in scaled units; None where there is no bound."""
_ANY = 2**62
"""Beyond every sum."""


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


def both_sides(ask: Ask, outsider_high: int, member_low: int | None, excess: int | None) -> str:
    """The proof of a set in words: how far outsiders reach, how far members fall, in the order of the question."""
    if member_low is None or excess is None:
        return "Sites are missing, so that nothing bounds the items of the list from below."
    if outsider_high < -_ANY:
        return "No item is known outside the list."
    over, under = ("exceeds", "lies below") if ask.params.order == "largest" else ("lies below", "exceeds")
    sign = (1 if ask.params.order == "largest" else -1) / ask.scale
    lacking = f"sites are missing, so that the difference may be up to {excess / ask.scale:,g}"
    return (
        f"By what the sites have told, no item outside the list {over} {outsider_high * sign:,g}, and none in it"
        f" {under} {member_low * sign:,g}: {lacking if excess else 'the difference is within the tolerance'}."
    )
