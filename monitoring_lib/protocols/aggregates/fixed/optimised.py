"""The best fixed widths for random walks: minimise ``sum C_i (2 s_i)^2 / W_i^2`` under the rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from monitoring_lib.codec import Floats
from monitoring_lib.methods import Ask, Moment
from monitoring_lib.network import COORDINATOR, Letter, Post
from monitoring_lib.protocols.aggregates.allocation import fitted, waterfill
from monitoring_lib.protocols.aggregates.letters import Steps
from monitoring_lib.protocols.aggregates.policy import Policy, Series, Standing
from monitoring_lib.protocols.aggregates.state import CoordinatorState, SiteState
from monitoring_lib.protocols.aggregates.terms import UNIT, WidthConstraints, Widths

_TURNS = 400
"""Of the prices; a single row is within a millionth of its own after 40."""


class OptimisedPolicy(Policy):
    """Steps are given, or each source measures those of its objects in their first epoch and tells them once."""

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self._last: tuple[WidthConstraints, dict[str, int], Widths] | None = None

    @cached_property
    def given(self) -> dict[str, int] | None:
        steps = self.ask.options.steps
        return None if steps is None else {name: int(step * self.ask.scale * UNIT) for name, step in steps.items()}

    def measure(self, state: SiteState, moment: Moment, series: Series) -> Iterable[Post]:
        """The mean distance from tick to tick of each object that is new."""
        new = np.flatnonzero(~series.known)
        if self.given is not None or not len(new):
            return
        sizes = []
        for place in new:
            moves = np.abs(np.diff(series.values[place, series.firsts[place] :]))
            sizes.append(int(moves.sum()) * UNIT // max(len(moves), 1))
        yield Post(COORDINATOR, Steps(np.array(new, np.int64), np.array(sizes, np.int64)), "measured")

    def take(self, state: CoordinatorState, moment: Moment, names: Sequence[str], letter: Letter) -> None:
        assert isinstance(letter, Steps)
        told = dict(zip(letter.places.tolist(), letter.sizes.tolist(), strict=True))
        state.steps = {**state.steps, **{names[place]: size for place, size in told.items()}}

    def targets(
        self, state: CoordinatorState, moment: Moment, standing: Standing, constraints: WidthConstraints
    ) -> Widths:
        known = self.given if self.given is not None else state.steps
        if self._last is None or self._last[0] is not constraints or self._last[1] != known:
            steps = np.array([known.get(name, UNIT) for name in standing.names], float)
            restlessness = self.costs(standing.names) * np.maximum(steps, 1) ** 2
            self._last = constraints, dict(known), best_for_walks(constraints, restlessness, self.quantum)
        return self._last[2]


def best_for_walks(constraints: WidthConstraints, restlessness: Floats, quantum: int) -> Widths:
    """Whole quanta near the minimum of ``sum restlessness_i / W_i^2``; what the rows have left is waterfilled.

    The dual has one price a row: ``W_i = (2 r_i / sum_j p_j a_ij)^(1/3)``, and a row's load falls with the cube root of
    the prices, so that multiplying each price by its row's load comes to rest.
    """
    members = np.flatnonzero(constraints.bound_objects)
    if not len(members):
        return waterfill(constraints, quantum)
    loads = constraints.weights[:, members].astype(float)
    bounds = np.maximum(constraints.bounds.astype(float), 1e-9)
    loads = loads / bounds[:, None]  # every row is then at most 1
    scale = float(np.cbrt(restlessness[members].mean()))
    rest = restlessness[members] / scale**3
    caps = constraints.caps[members].astype(float) / scale
    wish = _solve(loads * scale, rest, caps) * scale
    rounded = np.zeros(len(constraints.caps), np.int64)
    rounded[members] = (np.minimum(wish, constraints.caps[members].astype(float)) // quantum).astype(np.int64) * quantum
    kept = fitted(constraints, rounded)
    return waterfill(constraints, quantum, np.where(constraints.bound_objects, kept // quantum * quantum, 0))


def _solve(loads: Floats, rest: Floats, caps: Floats) -> Floats:
    """Widths at prices under which every row costs what it is worth: a row that is overfull gets dearer."""
    prices = np.full(len(loads), 2 * float(rest.sum()))
    widths = caps
    for _ in range(_TURNS):
        widths = np.minimum(np.cbrt(2 * rest / np.maximum(prices @ loads, 1e-30)), caps)
        prices = np.maximum(prices * (loads @ widths), 1e-30)
    return widths
