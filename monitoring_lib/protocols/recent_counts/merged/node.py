"""Merged sketches, at an inner node of a tree: merges what its children told, tells its parent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from monitoring_lib.codec import Image
from monitoring_lib.methods import Ask, InnerRole, Moment
from monitoring_lib.network import Delivery, Post
from monitoring_lib.protocols.recent_counts.merged.design import Design
from monitoring_lib.protocols.recent_counts.merged.letters import Sketched, ToldSketches
from monitoring_lib.protocols.recent_counts.merged.rhythm import merges
from monitoring_lib.protocols.recent_counts.merged.sketches import Sketches, merged
from monitoring_lib.topology import Tree


@dataclass(slots=True)
class MergingState(Image, tag=21, version=1):
    """The last word of every child, and what the parent was told."""

    node: str
    told: ToldSketches
    children: dict[str, ToldSketches] = field(default_factory=dict)
    owed: bool = False


class MergingNode(InnerRole[MergingState]):
    """Its sketch is that of all events below, one more level merged."""

    State = MergingState

    def __init__(self, ask: Ask, design: Design) -> None:
        super().__init__(ask)
        self.design = design

    def start(self, node: str) -> MergingState:
        return MergingState(node, ToldSketches(self.design.empty(node)))

    def receive(self, state: MergingState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        tree = moment.topology
        assert isinstance(tree, Tree)
        changed = taken_in(self.design, state.children, inbox)
        if round_ != tree.height(state.node):
            return
        merging = merges(moment, self.ask.options.every, state.owed)
        state.owed = moment.owed
        if merging:
            changed = left(state.children, tree.children(state.node)) or changed
        if changed:
            sketches = together(self.design, state.node, state.children)
            letter = state.told.news(sketches, None, all_names(state.children))
            if letter is not None:
                yield Post(tree.parents[state.node], letter, "merged")


def taken_in(design: Design, children: dict[str, ToldSketches], inbox: Sequence[Delivery]) -> bool:
    """Keeps what the children told; whether they told anything."""
    for delivery in inbox:
        assert isinstance(delivery.letter, Sketched)
        if delivery.sender not in children:
            children[delivery.sender] = ToldSketches(design.empty(delivery.sender))
        children[delivery.sender].take(delivery.letter)
    return bool(inbox)


def left(children: dict[str, ToldSketches], roster: Sequence[str]) -> bool:
    """Forgets children that are no longer there; whether there were any."""
    gone = children.keys() - set(roster)
    for child in gone:
        del children[child]
    return bool(gone)


def together(design: Design, node: str, children: dict[str, ToldSketches]) -> Sketches:
    """The sketches of all children as one."""
    parts = [children[child].sketches for child in sorted(children)]
    return merged(parts) if parts else design.empty(node)


def all_names(children: dict[str, ToldSketches]) -> list[str]:
    return sorted({name for part in children.values() for name in part.names})
