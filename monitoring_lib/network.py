"""Who may speak to whom, what was said, and how it settles.

Knowledge moves only as messages. `settle` runs the rounds of one epoch: it delivers what was sent, decoded
from its encoded form, refuses an edge that the topology does not have, bounds the rounds, and returns the
whole traffic as the ledger of the epoch.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from monitoring_lib.codec import Image, decode, encode
from monitoring_lib.errors import ProtocolError

COORDINATOR = "@coordinator"
"""Name of the coordinator and of a tree's root. Nodes that are no sites have names that begin with one @."""

ALL = "@all"
"""Receiver of a post to every neighbour, recorded and counted once for each. No site can have this name."""


def node_of_site(site: str) -> str:
    """The node name of a site: its own, with a further @ where it begins with one, so that none collide."""
    return "@" + site if site.startswith("@") else site


def site_of_node(node: str) -> str:
    return node[1:] if node.startswith("@@") else node


def is_site(node: str) -> bool:
    return not node.startswith("@") or node.startswith("@@")


class Letter(Image):
    """The content of a message. `entries` counts its (key, value) pairs, the unit the texts count in."""

    __slots__ = ()

    @property
    def entries(self) -> int:
        return 1

    @classmethod
    def kind(cls) -> str:
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()


@dataclass(frozen=True, slots=True)
class Post:
    """What a node hands to the network: to whom, what, and why."""

    receiver: str
    letter: Letter
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a node is handed: from whom, and what."""

    sender: str
    letter: Letter


@dataclass(frozen=True, slots=True, order=True)
class Message:
    """One line of the ledger of traffic. Sorted, messages are in the order of their delivery."""

    epoch: int
    round: int
    sender: str
    position: int
    receiver: str
    kind: str = field(compare=False)
    reason: str = field(compare=False)
    entries: int = field(compare=False)
    payload: bytes = field(compare=False, repr=False)

    @property
    def bytes(self) -> int:
        return len(self.payload)

    def delivery(self, letters: Sequence[type[Letter]]) -> Delivery:
        return Delivery(self.sender, decode(self.payload, *letters))


class Topology(ABC):
    """The nodes and their edges; edges carry messages both ways."""

    @property
    @abstractmethod
    def nodes(self) -> Sequence[str]: ...

    @abstractmethod
    def neighbours(self, node: str) -> Sequence[str]: ...

    @abstractmethod
    def linked(self, one: str, other: str) -> bool: ...

    @cached_property
    def members(self) -> frozenset[str]:
        return frozenset(self.nodes)

    @property
    def inner(self) -> Sequence[str]:
        """The nodes that are no sites, those nearest to the sites first."""
        return [node for node in self.nodes if not is_site(node)]


@dataclass(frozen=True)
class Star(Topology):
    """Every site and the coordinator."""

    sites: tuple[str, ...]

    @property
    def nodes(self) -> Sequence[str]:
        return (*self.sites, COORDINATOR)

    def neighbours(self, node: str) -> Sequence[str]:
        return self.sites if node == COORDINATOR else (COORDINATOR,)

    def linked(self, one: str, other: str) -> bool:
        return (one == COORDINATOR) != (other == COORDINATOR) and {one, other} <= self.members


@dataclass(frozen=True)
class Mesh(Topology):
    """Every site and every other; nobody in the middle."""

    sites: tuple[str, ...]

    @property
    def nodes(self) -> Sequence[str]:
        return self.sites

    def neighbours(self, node: str) -> Sequence[str]:
        return tuple(site for site in self.sites if site != node)

    def linked(self, one: str, other: str) -> bool:
        return one != other and {one, other} <= self.members


@dataclass(frozen=True)
class Tree(Topology):
    """Sites are leaves; the root is the coordinator. `parents` maps every node but the root to its parent."""

    parents: Mapping[str, str]

    @classmethod
    def balanced(cls, sites: Sequence[str], fanout: int) -> Tree:
        """Groups of `fanout` sites in their order, groups of groups above them, up to the root."""
        if fanout < 2:
            raise ValueError(f"fanout: a tree needs at least 2 children a node, found {fanout}")
        parents: dict[str, str] = {}
        level, depth = list(sites), 0
        while len(level) > fanout:
            depth += 1
            above = [f"@tree/{depth}/{number}" for number in range((len(level) + fanout - 1) // fanout)]
            parents.update({node: above[at // fanout] for at, node in enumerate(level)})
            level = above
        parents.update(dict.fromkeys(level, COORDINATOR))
        return cls(parents)

    @property
    def nodes(self) -> Sequence[str]:
        return (*self.parents, COORDINATOR)

    def children(self, node: str) -> Sequence[str]:
        return [child for child, parent in self.parents.items() if parent == node]

    def level(self, node: str) -> int:
        """Steps from the root."""
        return 0 if node == COORDINATOR else 1 + self.level(self.parents[node])

    def neighbours(self, node: str) -> Sequence[str]:
        parent = self.parents.get(node)
        return [*self.children(node), *([parent] if parent is not None else [])]

    def linked(self, one: str, other: str) -> bool:
        return self.parents.get(one) == other or self.parents.get(other) == one


def stamp(topology: Topology, epoch: int, round_: int, sender: str, posts: Iterable[Post]) -> list[Message]:
    """The posts of one node in one round as messages, each edge checked."""
    messages: list[Message] = []
    for post in posts:
        receivers = sorted(topology.neighbours(sender)) if post.receiver == ALL else (post.receiver,)
        payload = encode(post.letter)
        for receiver in receivers:
            if not topology.linked(sender, receiver):
                raise ProtocolError(f"{sender!r} sent {post.letter.kind()} to {receiver!r}, which it has no edge to")
            messages.append(
                Message(
                    epoch, round_, sender, len(messages), receiver,
                    post.letter.kind(), post.reason, post.letter.entries, payload,
                )
            )  # fmt: skip
    return messages


class Side(Protocol):
    """Some of the network's nodes and the place where they run."""

    def exchange(self, round_: int, inbox: Mapping[str, Sequence[Message]]) -> list[Message]:
        """Delivers a round's messages to the nodes of this side; what they send in return."""


def settle(sites: Side, inner: Side, sent: Sequence[Message], most_rounds: int) -> list[Message]:
    """Runs rounds until nobody has anything to say; all messages of the epoch in order of delivery.

    `sent` is what the sites said on their own account, in round 0. The inner nodes are called in round 1 even
    if nobody spoke: upkeep of their own may give them something to say.
    """
    ledger: list[Message] = []
    round_ = 0
    while sent or round_ == 0:
        ledger.extend(sorted(sent))
        round_ += 1
        if round_ > most_rounds:
            raise ProtocolError(
                f"epoch {sent[0].epoch} has not settled within {most_rounds} rounds;"
                f" still speaking: {', '.join(sorted({message.sender for message in sent})[:5])}"
            )
        inbox: dict[bool, dict[str, list[Message]]] = {True: {}, False: {}}
        for message in sorted(sent):
            inbox[is_site(message.receiver)].setdefault(message.receiver, []).append(message)
        sent = inner.exchange(round_, inbox[False])
        if inbox[True]:
            sent = [*sent, *sites.exchange(round_, inbox[True])]
    return ledger
