"""The nodes' names, and what nodes send each other: letters, and the messages that carry them.

Knowledge moves only as messages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from monitoring_lib.codec import Image, decode

COORDINATOR = "@coordinator"
"""Name of the coordinator and of a tree's root. Nodes that are no sites have names that begin with one @."""

ALL = "@all"
"""Receiver of a post to every neighbour that is present. No site can have this name."""


def node_of_site(site: str) -> str:
    """The node name of a site: its own, with a further @ where it begins with one, so that none collide."""
    return "@" + site if site.startswith("@") else site


def site_of_node(node: str) -> str:
    return node[1:] if node.startswith("@@") else node


def is_site(node: str) -> bool:
    return not node.startswith("@") or node.startswith("@@")


class Letter(Image):
    """The content of a message. `entries` counts its (key, value) pairs, the unit that the papers count in."""

    __slots__ = ()

    @property
    def entries(self) -> int:
        return 1

    @classmethod
    def kind(cls) -> str:
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()


class NamesLetter(Letter):
    """A letter about names, each of which is an entry."""

    __slots__ = ()
    names: Sequence[str]

    @property
    def entries(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True)
class Post:
    """What a node hands to the network: to whom (a node, several, or ALL), what, and why."""

    receivers: str | tuple[str, ...]
    letter: Letter
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a node is handed: from whom, and what."""

    sender: str
    letter: Letter


@dataclass(frozen=True, slots=True, order=True)
class Message:
    """One line of the ledger of traffic: one letter, to one receiver or several.

    `entries` and `bytes` count the letter once for each link that it crosses. Sorted, messages are in the order of
    their delivery.
    """

    epoch: int
    round: int
    sender: str
    position: int
    receivers: tuple[str, ...] = field(compare=False)
    kind: str = field(compare=False)
    reason: str = field(compare=False)
    entries: int = field(compare=False)
    payload: bytes = field(compare=False, repr=False)

    @property
    def links(self) -> int:
        return len(self.receivers)

    @property
    def bytes(self) -> int:
        return len(self.payload) * self.links

    def delivery(self, letters: Sequence[type[Letter]]) -> Delivery:
        return Delivery(self.sender, decode(self.payload, *letters))
