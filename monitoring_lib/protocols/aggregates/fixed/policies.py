"""Uniform widths, none at all, and waterfilled ones."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from monitoring_lib.methods import Ask, Moment
from monitoring_lib.protocols.aggregates.allocation import uniform, waterfill
from monitoring_lib.protocols.aggregates.policy import Policy, Standing
from monitoring_lib.protocols.aggregates.state import CoordinatorState
from monitoring_lib.protocols.aggregates.terms import UNBOUNDED, WidthConstraints, Widths


class FixedPolicy(Policy):
    """Widths that are a function of the rows: computed once for each set of rows."""

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self._last: tuple[WidthConstraints, Widths] | None = None

    def targets(
        self, state: CoordinatorState, moment: Moment, standing: Standing, constraints: WidthConstraints
    ) -> Widths:
        if self._last is None or self._last[0] is not constraints:
            self._last = constraints, self.fixed(constraints)
        return self._last[1]

    @abstractmethod
    def fixed(self, constraints: WidthConstraints) -> Widths:
        """The widths for a set of rows."""


class UniformPolicy(FixedPolicy):
    def fixed(self, constraints: WidthConstraints) -> Widths:
        return uniform(constraints)


class WaterfillPolicy(FixedPolicy):
    def fixed(self, constraints: WidthConstraints) -> Widths:
        return waterfill(constraints, self.quantum)


class NoFilterPolicy(FixedPolicy):
    def starting(self, names: Sequence[str]) -> list[int]:
        return [0 if width < UNBOUNDED else UNBOUNDED for width in super().starting(names)]

    def fixed(self, constraints: WidthConstraints) -> Widths:
        return np.where(constraints.bound_objects | (constraints.caps < UNBOUNDED), 0, UNBOUNDED)
