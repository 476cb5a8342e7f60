"""Margins: how far a sum may lie from what was told of it."""

from __future__ import annotations

from monitoring_lib.methods import Ask
from monitoring_lib.protocols.topk.question import tolerance_of
from monitoring_lib.protocols.topk.sums import even_share


def one_sided(ask: Ask) -> bool:
    """Whether a sum is told as soon as it falls, so that it is never below what was told.

    So it is for sums that should only grow: a fall cannot be ruled out, but costs little. With both options 0 there
    is nothing to gain, and margins keeps to the rules of caching.
    """
    grows = ask.window.length is None and not ask.params.signed
    return grows and bool(ask.options.untracked or ask.options.granted)


def least_width(ask: Ask, sites: int) -> int:
    """How far each sum may drift at least: together by half the tolerance each way, or by all of it one way."""
    if one_sided(ask) and sites:
        return tolerance_of(ask) // sites
    return even_share(ask, sites)
