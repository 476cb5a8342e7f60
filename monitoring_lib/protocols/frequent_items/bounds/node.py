"""Bounds, at an inner node: merges its children's lists, and leaves out what is small below it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from monitoring_lib.methods import Moment
from monitoring_lib.network import Delivery, Post
from monitoring_lib.protocols.frequent_items.bounds.merging import MergedBounds
from monitoring_lib.protocols.frequent_items.bounds.state import BoundsNodeState
from monitoring_lib.protocols.frequent_items.nodes import Patient, tree_at


class BoundsNode(Patient[BoundsNodeState]):
    """What an item lacks is at most ``error * total`` below it, because it is so below each child."""

    State = BoundsNodeState

    def start(self, node: str) -> BoundsNodeState:
        return BoundsNodeState(node)

    def name(self, state: BoundsNodeState) -> str:
        return state.node

    def work(self, state: BoundsNodeState, moment: Moment, inbox: Sequence[Delivery]) -> Iterable[Post]:
        if not inbox:
            return
        send = self.ask.options.send
        letter = MergedBounds.of(state.node, inbox, send).letter(Fraction(self.ask.params.error), send)
        yield Post(tree_at(moment).parents[state.node], letter, "merged")
