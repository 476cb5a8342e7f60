"""What the nodes of every method share: a place in a tree, and patience until all from below has arrived."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TypeVar

from monitoring_lib.codec import Image
from monitoring_lib.errors import DataError
from monitoring_lib.methods import Ask, InnerRole, Moment
from monitoring_lib.network import Delivery, Post
from monitoring_lib.topology import Tree
from monitoring_lib.unstored import Unstored

S = TypeVar("S", bound=Image)

LARGEST_TOTAL = 2**62
"""No sum that a node computes exceeds the epoch's total, so that 64 bits hold all of them."""


def tree_at(moment: Moment) -> Tree:
    assert isinstance(moment.topology, Tree)
    return moment.topology


def total_of(node: str, parts: Iterable[int]) -> int:
    """The epoch's total below a node."""
    total = sum(parts)
    if total > LARGEST_TOTAL:
        raise DataError(
            f"node {node!r}: the epoch's total of {total} does not fit in 62 bits; give the value a smaller `scale`,"
            " or the source shorter epochs"
        )
    return total


class Patient(InnerRole[S]):
    """An inner node, or the root, that works once in an epoch: in the round of its height, on all of its mail."""

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self._waiting: Unstored[list[Delivery]] = Unstored()

    @abstractmethod
    def name(self, state: S) -> str:
        """The node's own name."""

    @abstractmethod
    def work(self, state: S, moment: Moment, inbox: Sequence[Delivery]) -> Iterable[Post]:
        """What the node makes of all that its children sent, in the order of the senders."""

    def from_above(self, state: S, moment: Moment, inbox: Sequence[Delivery]) -> Iterable[Post]:
        """What the node does with what its parent sent; nothing, where parents never send."""
        return ()

    def receive(self, state: S, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        tree, node = tree_at(moment), self.name(state)
        parent, height = tree.parents.get(node), tree.height(node)
        waiting = self._waiting.of_epoch(state, moment.epoch) or []
        waiting += [delivery for delivery in inbox if delivery.sender != parent]
        if round_ < height:
            self._waiting.put(state, moment.epoch, waiting)
        elif round_ == height:
            self._waiting.drop(state)
            yield from self.work(state, moment, sorted(waiting, key=lambda delivery: delivery.sender))
        above = [delivery for delivery in inbox if delivery.sender == parent]
        if above:
            yield from self.from_above(state, moment, above)
