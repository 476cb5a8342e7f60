"""What crosses each link: the load that a tree is built to keep down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from monitoring_lib.methods import Moment
from monitoring_lib.network import COORDINATOR, Message
from monitoring_lib.topology import Tree

Link = tuple[str, str]
"""The lower and the upper end."""


@dataclass
class Loads:
    """Entries sent upwards by link and epoch, of networks that are trees; the papers' loads are the means of them."""

    epochs: int = 0
    by_link: Counter[Link] = field(default_factory=Counter)

    def add(self, moment: Moment, messages: Sequence[Message]) -> None:
        """One epoch's messages."""
        if not isinstance(moment.topology, Tree):
            return
        self.epochs += 1
        for message in messages:
            parent = moment.topology.parents.get(message.sender)
            if parent in message.receivers:
                self.by_link[message.sender, parent] += message.entries // message.links

    @property
    def root(self) -> int:
        """Entries that reached the root, over all its links."""
        return sum(load for (_, upper), load in self.by_link.items() if upper == COORDINATOR)

    @property
    def heaviest(self) -> tuple[Link, int] | None:
        """The link that carried most, over all epochs."""
        return max(self.by_link.items(), key=lambda pair: (pair[1], pair[0])) if self.by_link else None

    @property
    def total(self) -> int:
        return self.by_link.total()
