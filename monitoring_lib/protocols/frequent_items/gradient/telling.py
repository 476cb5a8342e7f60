"""Gradient: how the measured commonality reaches every node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from monitoring_lib.methods import Moment
from monitoring_lib.network import Delivery, Post
from monitoring_lib.protocols.frequent_items.gradient.letters import Commonality
from monitoring_lib.protocols.frequent_items.gradient.state import GradientNodeState, GradientRootState
from monitoring_lib.protocols.frequent_items.nodes import tree_at


def tell_children(state: GradientNodeState | GradientRootState, node: str, moment: Moment) -> Iterable[Post]:
    """Tells the children that do not know it yet; one that is missing finds it when it is back."""
    if state.commonality is None:
        return
    children = sorted(tree_at(moment).children(node))
    untold = set(children) - set(state.told)
    state.told = children
    if untold:
        yield Post(tuple(sorted(untold)), Commonality(state.commonality), "gradient")


def told_of(inbox: Sequence[Delivery]) -> float | None:
    """What a letter of the inbox says of it."""
    return next((each.letter.commonality for each in inbox if isinstance(each.letter, Commonality)), None)
