"""Bounds, at the root: decayed counts with what each lacks at most, and what an unlisted item has at most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from monitoring_lib.answers import Answers
from monitoring_lib.methods import Moment
from monitoring_lib.names import Names
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.frequent_items.bounds.merging import MergedBounds
from monitoring_lib.protocols.frequent_items.bounds.state import BoundsRootState
from monitoring_lib.protocols.frequent_items.decayed import VANISHED, drift_after, published, share_below
from monitoring_lib.protocols.frequent_items.lists import Union
from monitoring_lib.protocols.frequent_items.nodes import Patient


class BoundsRoot(Patient[BoundsRootState]):
    """``counts <= exact <= counts + lacking`` of listed items, ``exact <= unlisted`` of others, after every epoch.

    What is lacking or unlisted is at most ``error * total``: it is so for every epoch alone, and decays alike.
    """

    State = BoundsRootState

    def start(self, node: str) -> BoundsRootState:
        return BoundsRootState()

    def name(self, state: BoundsRootState) -> str:
        return COORDINATOR

    def work(self, state: BoundsRootState, moment: Moment, inbox: Sequence[Delivery]) -> Iterable[Post]:
        new = MergedBounds.of(COORDINATOR, inbox, self.ask.options.send)
        decay = float(self.ask.params.decay)
        total = decay * state.total + new.total
        if state.period != moment.period or total < VANISHED:
            decay, total, state.drift = 0.0, float(new.total), 0.0
        state.period, state.total, state.drift = moment.period, total, drift_after(self.ask, state.drift, total)
        self._add(state, decay, new)
        self._leave_out(state)
        return ()

    def _add(self, state: BoundsRootState, decay: float, new: MergedBounds) -> None:
        """To every item what the epoch says of it; one that nobody listed lacks what unlisted items have."""
        union = Union.of([state.names, Names(new.union.names)])
        known, unknown = len(state.names), len(new.union.names)
        counts = [decay * state.counts, new.counts.astype(np.float64)]
        before = [decay * (state.lacking - state.unlisted), np.zeros(unknown)]
        of_epoch = [np.zeros(known), (new.lacking - new.unlisted).astype(np.float64)]
        state.counts = union.sums(counts)
        lacking = (union.sums(before) + decay * state.unlisted) + (union.sums(of_epoch) + new.unlisted)
        state.lacking = np.maximum(lacking, 0)
        state.unlisted = decay * state.unlisted + new.unlisted
        state.names = Names(union.names)

    def _leave_out(self, state: BoundsRootState) -> None:
        """Items of at most ``error * total``: from then on the bound of unlisted items covers them."""
        most = state.counts + state.lacking
        kept = most + 2 * state.drift > share_below(Fraction(self.ask.params.error), state.total)
        state.unlisted = max(state.unlisted, float(most[~kept].max(initial=0)))
        state.names, places = Union.over(state.names).chosen(kept)
        state.counts, state.lacking = state.counts[places], state.lacking[places]

    def answers(self, state: BoundsRootState, moment: Moment) -> Answers:
        most = state.counts + state.lacking
        listed = most + 2 * state.drift > share_below(Fraction(self.ask.params.support), state.total)
        names, places = Union.over(state.names).chosen(listed)
        low, high = state.counts[places], most[places]
        estimate = low if self.ask.options.send == "raw" else (low + high) / 2
        return published(self.ask, moment, state.total, state.drift, names, estimate, low, high)

    def certificate(self, state: BoundsRootState, moment: Moment) -> str:
        return (
            f"Of {state.total:,g} events, decayed, a listed item lacks at most"
            f" {float(state.lacking.max(initial=0)):,g}, and one that is not listed has at most {state.unlisted:,g}."
            f" Both are within the error of {float(self.ask.params.error) * state.total:,g}."
        )

    def faults(self, state: BoundsRootState) -> Sequence[str]:
        allowed = float(self.ask.params.error) * state.total * (1 + 1e-9) + 2 * state.drift
        lacking = max(state.unlisted, float(state.lacking.max(initial=0)))
        return [] if lacking <= allowed else [f"a count may lack {lacking:g}, more than the allowed {allowed:g}"]
