"""Gradient, at a site: exact counts of the epoch, lowered by what its level may lose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import pyarrow as pa

from monitoring_lib.methods import Ask, Moment, SiteRole
from monitoring_lib.names import Names
from monitoring_lib.network import Delivery, Letter, Post
from monitoring_lib.protocols.frequent_items.gradient.commonality import sample_of
from monitoring_lib.protocols.frequent_items.gradient.letters import LoweredCounts, RawCounts
from monitoring_lib.protocols.frequent_items.gradient.lowering import amount_a, lowered
from monitoring_lib.protocols.frequent_items.gradient.state import GradientNodeState
from monitoring_lib.protocols.frequent_items.gradient.telling import told_of
from monitoring_lib.protocols.frequent_items.gradient.tolerances import Gradients
from monitoring_lib.protocols.frequent_items.nodes import total_of, tree_at
from monitoring_lib.protocols.frequent_items.question import refuse_negative
from monitoring_lib.synopses.counts import Counts


class GradientSite(SiteRole[GradientNodeState]):
    """``exact - tolerance * total <= sent <= exact`` for every item, sent or not."""

    State = GradientNodeState

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self._gradients = Gradients(ask)

    def start(self, node: str) -> GradientNodeState:
        return GradientNodeState(node)

    def observe(self, state: GradientNodeState, moment: Moment, arriving: Counts, expiring: Counts) -> Iterable[Post]:
        if not len(arriving):
            return
        refuse_negative(self.ask, state.node, arriving)
        total = total_of(state.node, arriving.sums.tolist())
        yield Post(tree_at(moment).parents[state.node], self._letter(state, moment, arriving, total), "counted")

    def _letter(self, state: GradientNodeState, moment: Moment, counts: Counts, total: int) -> Letter:
        if self._gradients.is_measured and state.commonality is None:
            return sample_of(counts, Fraction(self.ask.params.error), total)
        tree = tree_at(moment)
        share = self._gradients.over(tree, state.commonality).at(self._gradients.level(tree, state.node))
        if not share:
            return RawCounts(total, counts.names, counts.sums)
        kept, left = lowered(counts.sums, amount_a(counts.sums, share, total), total)
        return LoweredCounts(total, Names(counts.names.column.filter(pa.array(kept))), left[kept])

    def receive(
        self, state: GradientNodeState, moment: Moment, round_: int, inbox: Sequence[Delivery]
    ) -> Iterable[Post]:
        state.commonality = told_of(inbox)
        return ()
