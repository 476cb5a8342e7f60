"""Shrink at both ends without a message, then grow what needs it by explicit ones (paper, section 4)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.codec import Ints
from monitoring_lib.hashing import hash_text
from monitoring_lib.methods import Moment
from monitoring_lib.protocols.aggregates.allocation import fitted, grow, uniform
from monitoring_lib.protocols.aggregates.groups import Group, GroupedObject
from monitoring_lib.protocols.aggregates.policy import Policy, Standing
from monitoring_lib.protocols.aggregates.state import CoordinatorState
from monitoring_lib.protocols.aggregates.terms import Term, WidthConstraints, Widths

_SHRINKS = 1, 20
"""The share of a width that goes in a period: 0.05, the paper's S."""


class ShrinkingPolicy(Policy):
    """Widths begin uniform; at the end of every period they shrink, and some grow."""

    ticks_a_period: int

    @property
    def period(self) -> int:
        return -(-self.ticks_a_period // self.ask.ticks)

    def targets(
        self, state: CoordinatorState, moment: Moment, standing: Standing, constraints: WidthConstraints
    ) -> Widths:
        alone = ~constraints.bound_objects
        widths = np.where(standing.fresh, uniform(constraints), standing.widths)
        widths = fitted(constraints, np.where(alone, constraints.caps, widths))
        if not self.ends_period(moment.epoch):
            return widths
        order = [at for at in self.neediest(moment, standing, constraints, widths) if not standing.lost[at]]
        grown = grow(constraints, widths, order)
        # A gain below one step would be a message for nothing; it stays free for the next period.
        return np.where(grown - standing.widths >= self.quantum, grown, widths)

    @abstractmethod
    def neediest(
        self, moment: Moment, standing: Standing, constraints: WidthConstraints, widths: Widths
    ) -> Sequence[int]:
        """The objects that may grow, the one that needs it most first."""


def shares_rows(terms: Sequence[Term], names: Sequence[str]) -> NDArray[np.bool_]:
    """Which objects stand in a row with others, as their source knows it too; the widths of the rest are fixed."""
    rows = [term for term in terms if term.binds and term.ask in ("sum", "avg")]
    several = [term for term in rows if term.weights is None or len(term.weights) > 1]
    everywhere = any(term.weights is None for term in several)
    named = {name for term in several for name, weight in (term.weights or {}).items() if weight}
    found = []
    for name in names:
        if isinstance(name, Group | GroupedObject):
            found.append(any(term.weight(name) for term in rows))
        else:
            found.append(everywhere or name in named)
    return np.array(found, bool)


class TextPolicy(ShrinkingPolicy):
    """Every width shrinks; the objects whose burden is furthest above its queries' target grow."""

    ticks_a_period = 10

    def shrunk(self, moment: Moment, terms: Sequence[Term], names: Sequence[str], widths: Widths, sent: Ints) -> Widths:
        return _narrowed(widths, shares_rows(terms, names), *_SHRINKS)

    def neediest(
        self, moment: Moment, standing: Standing, constraints: WidthConstraints, widths: Widths
    ) -> Sequence[int]:
        seed = self.ask.options.seed + moment.epoch
        chance = [hash_text(name, seed & (2**63 - 1)) for name in standing.names]
        needs = deviations(constraints, self.costs(standing.names), standing.sent, widths, self.period * self.ask.ticks)
        return sorted(range(len(standing.names)), key=lambda at: (-needs[at], chance[at]))


def deviations(
    constraints: WidthConstraints, costs: NDArray[np.float64], sent: Ints, widths: Widths, ticks: int
) -> NDArray[np.float64]:
    """``D_i = max(B_i - sum_j |K_ij| T_j, 0)`` with burdens ``B_i = C_i N_i / (ticks W_i)``.

    The targets T >= 0 minimise ``|B - |K| T|``. An object of width 0 that sent something comes first.
    """
    from scipy.optimize import nnls

    urgent = (widths == 0) & (sent > 0)
    burdens = np.where(sent > 0, costs * sent / (float(ticks) * np.maximum(widths, 1)), 0.0)
    fit = constraints.bound_objects & ~urgent
    needs = np.zeros(len(widths))
    if fit.any():
        matrix = constraints.weights.T.astype(float)
        largest = float(burdens[fit].max()) or 1.0
        targets, _ = nnls(matrix[fit], burdens[fit] / largest, maxiter=30 * matrix.shape[1])
        needs = np.maximum(burdens - matrix @ targets * largest, 0)
    needs[urgent] = np.inf
    return needs


class QuietPolicy(ShrinkingPolicy):
    """Only objects that sent nothing shrink, so that no width is taken that must be given back at once."""

    ticks_a_period = 60

    def shrunk(self, moment: Moment, terms: Sequence[Term], names: Sequence[str], widths: Widths, sent: Ints) -> Widths:
        sizes = [len(moment.sites) if term.weights is None else len(term.weights) for term in terms if term.binds]
        members = max([1, *sizes])
        share = _SHRINKS if members <= 40 else (2, members)
        return _narrowed(widths, shares_rows(terms, names) & (sent == 0), *share)

    def neediest(
        self, moment: Moment, standing: Standing, constraints: WidthConstraints, widths: Widths
    ) -> Sequence[int]:
        spoke = np.flatnonzero((standing.sent > 0) & constraints.bound_objects)
        rate = np.where(widths > 0, standing.sent / np.maximum(widths, 1), np.inf)
        return sorted(spoke.tolist(), key=lambda at: (-rate[at], at))


def _narrowed(widths: Widths, which: NDArray[np.bool_], share: int, of: int) -> Widths:
    """``W - ceil(share / of * W)``."""
    finite = np.where(which, widths, 0)
    narrower: Widths = widths - -(-finite * share // of)
    return narrower
