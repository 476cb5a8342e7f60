"""Constraints: which changes of a member's sum a site tells though its constraint holds (not in the paper)."""

from __future__ import annotations

from typing import Literal

from monitoring_lib.methods import Ask
from monitoring_lib.protocols.topk.sums import keeps_zeros

Watching = Literal["changes", "ends", "nothing"]


def watching(ask: Ask) -> Watching:
    """Every change, where totals must be close, or where signed sums of the largest may add up to 0 or less.

    Else, of the largest, that nothing is left of a sum: only sums above 0 are published.
    """
    if ask.params.totals is not None:
        return "changes"
    if keeps_zeros(ask):
        return "nothing"
    return "changes" if ask.params.signed else "ends"
