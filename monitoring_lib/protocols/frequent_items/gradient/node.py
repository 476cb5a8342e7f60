"""Gradient, at an inner node: adds up its children's counts and lowers them by what its level may lose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from monitoring_lib.methods import Ask, Moment
from monitoring_lib.network import Delivery, Post
from monitoring_lib.protocols.frequent_items.gradient.merging import MergedCounts
from monitoring_lib.protocols.frequent_items.gradient.state import GradientNodeState
from monitoring_lib.protocols.frequent_items.gradient.telling import tell_children, told_of
from monitoring_lib.protocols.frequent_items.gradient.tolerances import Gradients
from monitoring_lib.protocols.frequent_items.nodes import Patient, tree_at


class GradientNode(Patient[GradientNodeState]):
    """``exact - tolerance * total <= sent <= exact`` below it, because it is so below each child.

    A child that does not know the gradient yet lowers nothing, which is less than it may.
    """

    State = GradientNodeState

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self._gradients = Gradients(ask)

    def start(self, node: str) -> GradientNodeState:
        return GradientNodeState(node)

    def name(self, state: GradientNodeState) -> str:
        return state.node

    def work(self, state: GradientNodeState, moment: Moment, inbox: Sequence[Delivery]) -> Iterable[Post]:
        tree = tree_at(moment)
        if inbox:
            merged = MergedCounts.of(state.node, inbox)
            sample = merged.sample() if state.commonality is None else None
            share = self._gradients.over(tree, state.commonality).step(self._gradients.level(tree, state.node))
            letter = sample or merged.letter(self.ask.options.algorithm, share)
            yield Post(tree.parents[state.node], letter, "merged")
        yield from tell_children(state, state.node, moment)

    def from_above(self, state: GradientNodeState, moment: Moment, inbox: Sequence[Delivery]) -> Iterable[Post]:
        state.commonality = told_of(inbox)
        return tell_children(state, state.node, moment)
