"""Curves at both ends: what a source counts and reports, and the widths that the coordinator makes of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from monitoring_lib.codec import Floats
from monitoring_lib.methods import Moment
from monitoring_lib.network import COORDINATOR, Letter, Post
from monitoring_lib.protocols.aggregates.allocation import waterfill
from monitoring_lib.protocols.aggregates.curves.programme import cheapest, expected, lower_hull
from monitoring_lib.protocols.aggregates.curves.shadows import LEVELS, count_bounds, shadow_steps
from monitoring_lib.protocols.aggregates.letters import Curves
from monitoring_lib.protocols.aggregates.policy import Policy, Series, Standing
from monitoring_lib.protocols.aggregates.state import CoordinatorState, Curve, SiteState
from monitoring_lib.protocols.aggregates.terms import UNBOUNDED, WidthConstraints, Widths

_TICKS_A_PERIOD = 60
_LONGEST = 32
"""Periods between two reports, at most: each costs up to 15 entries an object."""
_GAIN = 0.9
"""Widths change only where the curves foresee at most this share of the messages."""


class CurvesPolicy(Policy):
    """Reports come after 1, 2, 4, … 32 periods of 60 ticks; until the first, widths are waterfilled."""

    @property
    def _epochs_a_period(self) -> int:
        return -(-_TICKS_A_PERIOD // self.ask.ticks)

    def measure(self, state: SiteState, moment: Moment, series: Series) -> Iterable[Post]:
        filter_ = self.filter
        known = len(state.bases)
        bases = np.append(state.bases, np.minimum(state.widths[known:], UNBOUNDED >> 4))
        shadows = np.zeros((len(bases), 2 * LEVELS), np.int64)
        shadows[:known] = state.shadows.reshape(known, 2 * LEVELS)
        count_bounds(
            series.values, series.firsts, series.known, shadow_steps(bases, filter_), shadows, filter_ == "runs"
        )
        state.shadowed += 1
        if state.shadowed >= self._epochs_a_period * min(1 << state.reports, _LONGEST):
            yield self._report(state, bases, shadows)
        state.bases, state.shadows = bases, shadows.reshape(-1)

    def _report(self, state: SiteState, bases: Widths, shadows: Widths) -> Post:
        counts = shadows[:, :LEVELS]
        lengths = LEVELS - np.argmax(counts[:, ::-1] > 0, axis=1)
        lengths = np.where((counts > 0).any(axis=1), lengths, 0)
        flat = np.concatenate([row[:length] for row, length in zip(counts, lengths, strict=True)])
        letter = Curves(state.shadowed * self.ask.ticks, np.arange(len(bases)), bases.copy(), lengths, flat)
        shadows[:, :LEVELS] = 0
        far = (state.widths < UNBOUNDED) & ((bases > 2 * state.widths) | (2 * bases < state.widths))
        bases[far] = state.widths[far]
        state.shadowed, state.reports = 0, state.reports + 1
        return Post(COORDINATOR, letter, "rates at other widths")

    def take(self, state: CoordinatorState, moment: Moment, names: Sequence[str], letter: Letter) -> None:
        assert isinstance(letter, Curves)
        ends = np.cumsum(letter.lengths).tolist()
        told = dict(state.curves)
        for place, base, length, end in zip(letter.places, letter.bases, letter.lengths, ends, strict=True):
            counts = np.zeros(LEVELS, np.int64)
            counts[:length] = letter.counts[end - length : end]
            told[names[int(place)]] = Curve(letter.ticks, int(base), counts)
        state.curves, state.heard = told, moment.epoch

    def targets(
        self, state: CoordinatorState, moment: Moment, standing: Standing, constraints: WidthConstraints
    ) -> Widths:
        keeps = (constraints.left(standing.widths) >= 0).all() and (standing.widths <= constraints.caps).all()
        stays = bool(keeps) and not standing.changed and not standing.fresh.any()
        if stays and state.heard != moment.epoch:
            return standing.widths
        filled = waterfill(constraints, self.quantum)
        if not all(name in state.curves for name in standing.names) or not constraints.bound_objects.any():
            return filled
        hulls, costs = [self._hull(state.curves[name]) for name in standing.names], self.costs(standing.names)
        best = cheapest(constraints, hulls, costs, self.quantum)
        choices = [filled] if best is None else [filled, best]
        chosen = min(choices, key=lambda widths: expected(hulls, costs, widths))
        if stays and expected(hulls, costs, chosen) > _GAIN * expected(hulls, costs, standing.widths):
            return standing.widths
        return chosen

    def _hull(self, curve: Curve) -> tuple[Floats, Floats]:
        steps = shadow_steps(np.array([curve.base], np.int64), self.filter)[0].astype(float)
        return lower_hull(steps, curve.counts / max(curve.ticks, 1))
