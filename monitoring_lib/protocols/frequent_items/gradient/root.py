"""Gradient, at the root: decayed counts, lowered in every epoch by what the levels below have left to lose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from monitoring_lib.answers import Answers
from monitoring_lib.methods import Ask, Moment
from monitoring_lib.names import Names
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.frequent_items.decayed import VANISHED, drift_after, published, share_below
from monitoring_lib.protocols.frequent_items.gradient.commonality import measured
from monitoring_lib.protocols.frequent_items.gradient.lowering import AMOUNTS, DUST, lowered
from monitoring_lib.protocols.frequent_items.gradient.merging import MergedCounts
from monitoring_lib.protocols.frequent_items.gradient.state import GradientRootState
from monitoring_lib.protocols.frequent_items.gradient.telling import tell_children
from monitoring_lib.protocols.frequent_items.gradient.tolerances import Gradients
from monitoring_lib.protocols.frequent_items.lists import Union
from monitoring_lib.protocols.frequent_items.nodes import Patient, tree_at


class GradientRoot(Patient[GradientRootState]):
    """``exact - error * total <= counts <= exact`` of every item, those it does not hold counted as 0."""

    State = GradientRootState

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self._gradients = Gradients(ask)

    def start(self, node: str) -> GradientRootState:
        return GradientRootState()

    def name(self, state: GradientRootState) -> str:
        return COORDINATOR

    def work(self, state: GradientRootState, moment: Moment, inbox: Sequence[Delivery]) -> Iterable[Post]:
        new = MergedCounts.of(COORDINATOR, inbox)
        self._add(state, moment, new)
        if self._gradients.is_measured and state.commonality is None:
            sample = new.sample()
            if sample is not None:
                state.commonality = measured(sample, Fraction(self.ask.params.error))
        return tell_children(state, COORDINATOR, moment)

    def _add(self, state: GradientRootState, moment: Moment, new: MergedCounts) -> None:
        decay = float(self.ask.params.decay)
        total = decay * state.total + new.total
        if state.period != moment.period or total < VANISHED:
            decay, total = 0.0, float(new.total)
        state.period, state.total = moment.period, total
        union = Union.of([state.names, Names(new.union.names)])
        counts = union.sums([decay * state.counts, new.counts.astype(np.float64)])
        share = self._gradients.over(tree_at(moment), state.commonality).step(0)
        by = AMOUNTS[self.ask.options.algorithm](counts, share, new.total)
        kept, left = lowered(counts, by, total)
        whole = not by and new.counts.dtype.kind == "i" and not state.drift
        state.drift = drift_after(self.ask, state.drift if decay else 0.0, total, whole)
        if not whole:
            state.drift += DUST * tree_at(moment).depth * new.total + float(left[~kept].max(initial=0.0))
        state.names, places = union.chosen(kept)
        state.counts = left[places]

    def answers(self, state: GradientRootState, moment: Moment) -> Answers:
        border = share_below(Fraction(self.ask.params.support - self.ask.params.error), state.total)
        names, places = Union.over(state.names).chosen(state.counts + 2 * state.drift > border)
        counts = state.counts[places]
        most = counts + float(self.ask.params.error) * state.total
        return published(self.ask, moment, state.total, state.drift, names, counts, counts, most)

    def certificate(self, state: GradientRootState, moment: Moment) -> str:
        return (
            f"Of {state.total:,g} events, decayed, every node took at most its share of the error from each count: a"
            f" count is never too large, and too small by at most {float(self.ask.params.error) * state.total:,g}. An"
            " item that is not held has at most that."
        )
