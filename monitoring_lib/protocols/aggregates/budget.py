"""The second dial: a budget of entries an epoch, and the precision that it buys.

The dial is the width of an object that is alone in its query; a sum over objects gets the dial times its weights. For
a random walk the messages fall with the square of the width, so the dial turns by the root of the overspending.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from monitoring_lib.protocols.aggregates.state import CoordinatorState
from monitoring_lib.protocols.aggregates.terms import UNIT, Term

_SLACK = (0.75, 1.0)
"""The dial stays where it is while the share of the budget that was spent lies between these."""
_TURN = (0.5, 4.0)
"""The least and the largest factor of one turn."""


def dialled(terms: Sequence[Term], dial: int, names: Sequence[str]) -> tuple[Term, ...]:
    """The queries with the precision that the dial gives those of a budget."""
    return tuple(_dialled(term, dial, names) if term.budgeted else term for term in terms)


def _dialled(term: Term, dial: int, names: Sequence[str]) -> Term:
    share = Fraction(dial, UNIT)
    if term.ask == "sum":
        share *= Fraction(sum(map(term.has, names)) if term.weights is None else term.total, term.denominator)
    return replace(term, precision=share, budgeted=False)


def turned(budget: int, state: CoordinatorState, entries: int, moved: int) -> bool:
    """Turns the dial after an epoch that took so many bounds; whether it moved.

    `moved` is how far the bounds moved: with the dial at 0 it is the only measure of how restless the values are.
    """
    spent = (entries + state.spent) / budget
    if _SLACK[0] <= spent <= _SLACK[1] or (spent < _SLACK[0] and state.dial == 0):
        return False
    if state.dial == 0:
        dial = max(UNIT, math.ceil(UNIT * math.sqrt(spent) * moved / max(entries, 1)))
    else:
        # Aims a little below the budget, so that what is spent comes to rest inside the slack.
        dial = math.ceil(state.dial * min(max(math.sqrt(spent / 0.9), _TURN[0]), _TURN[1]))
    moved_on, state.dial = dial != state.dial, dial
    return moved_on
