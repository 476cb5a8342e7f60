"""Who may send to whom, the messages that were sent, and rounds until no node has one left to send.

Knowledge moves only as messages. `settle` runs the rounds of one epoch: it delivers what was sent, decoded
from its encoded form, refuses an edge that the topology does not have, bounds the rounds, and returns the
whole traffic as the ledger of the epoch.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from monitoring_lib.codec import Image, decode, encode
from monitoring_lib.errors import ProtocolError

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


@dataclass(frozen=True)
class Roster:
    """The sites known at an epoch, as nodes in the order of their joining; those of one epoch by name.

    `placements` holds, for a method that asks for it, the texts that say where in the topology a site belongs.
    """

    nodes: tuple[str, ...] = ()
    placements: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def sites(self) -> tuple[str, ...]:
        """By name."""
        return tuple(sorted(self.nodes))

    def joined(self, new: Mapping[str, tuple[str, ...]]) -> Roster:
        """With the nodes of these that are not known yet; the roster itself if all are."""
        unknown = sorted(new.keys() - self.placements.keys())
        if not unknown:
            return self
        return Roster((*self.nodes, *unknown), {**self.placements, **{node: new[node] for node in unknown}})

    def without(self, gone: Collection[str]) -> Roster:
        """Without nodes that have left."""
        kept = tuple(node for node in self.nodes if node not in gone)
        return Roster(kept, {node: self.placements[node] for node in kept})


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

    @cached_property
    def inner(self) -> Sequence[str]:
        """The nodes that are no sites, those nearest to the sites first."""
        return [node for node in self.nodes if not is_site(node)]

    @property
    def depth(self) -> int:
        """The rounds that a message needs from the farthest site to the coordinator; 0 without one."""
        return 1 if self.inner else 0


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
    def even(cls, roster: Roster, fanout: int) -> Tree:
        """At most `fanout` children a node. Sites fill the groups in the order of their joining.

        A site that joins later takes the next free place, so that no other site changes its group; where the
        tree needs another level, it is put between the root and the groups below it.
        """
        if fanout < 2:
            raise ValueError(f"fanout: a tree needs at least 2 children a node, found {fanout}")
        parents: dict[str, str] = {}
        level, depth = list(roster.nodes), 0
        while len(level) > fanout:
            depth += 1
            above = [f"@tree/{depth}/{number}" for number in range((len(level) + fanout - 1) // fanout)]
            parents.update({node: above[at // fanout] for at, node in enumerate(level)})
            level = above
        parents.update(dict.fromkeys(level, COORDINATOR))
        return cls(parents)

    @classmethod
    def by_placement(cls, roster: Roster) -> Tree:
        """Root, then a node for each first text, below it one for each first and second text, and so on.

        A site hangs on the node of its texts up to the first empty one: without any, on the root.
        """
        parents: dict[str, str] = {}
        for node in roster.nodes:
            above = COORDINATOR
            for depth, text in enumerate(roster.placements.get(node, ())):
                if not text:
                    break
                branch = f"@branch/{json.dumps(roster.placements[node][: depth + 1], ensure_ascii=False)}"
                parents[branch], above = above, branch
            parents[node] = above
        return cls(parents)

    @property
    def nodes(self) -> Sequence[str]:
        return (*self.parents, COORDINATOR)

    @cached_property
    def inner(self) -> Sequence[str]:
        found = [node for node in self.nodes if not is_site(node)]
        return sorted(found, key=lambda node: (self.height(node), node))

    @cached_property
    def _children(self) -> Mapping[str, list[str]]:
        children: dict[str, list[str]] = {}
        for child, parent in self.parents.items():
            children.setdefault(parent, []).append(child)
        return children

    @cached_property
    def _heights(self) -> Mapping[str, int]:
        heights: dict[str, int] = {COORDINATOR: 1}
        for start in self.parents:
            node, height = start, 0
            while node != COORDINATOR:
                heights[node] = max(heights.get(node, 0 if is_site(node) else 1), height)
                node, height = self.parents[node], height + 1
                if height > len(self.parents) + 1:
                    raise ValueError(f"parents: {start!r} does not lead to the root")
            heights[node] = max(heights[node], height)
        return heights

    def children(self, node: str) -> Sequence[str]:
        return self._children.get(node, [])

    def level(self, node: str) -> int:
        """Steps from the root."""
        level = 0
        while node != COORDINATOR:
            node, level = self.parents[node], level + 1
        return level

    def height(self, node: str) -> int:
        """Steps to the farthest site below; at least 1 for a node that is no site."""
        return self._heights[node]

    @property
    def depth(self) -> int:
        return self.height(COORDINATOR)

    def neighbours(self, node: str) -> Sequence[str]:
        parent = self.parents.get(node)
        return [*self.children(node), *([parent] if parent is not None else [])]

    def linked(self, one: str, other: str) -> bool:
        return self.parents.get(one) == other or self.parents.get(other) == one


def stamp(
    topology: Topology, missing: Collection[str], epoch: int, round_: int, sender: str, posts: Iterable[Post]
) -> list[Message]:
    """The posts of one node in one round as messages, each edge checked."""
    messages: list[Message] = []
    for post in posts:
        kind = post.letter.kind()
        if post.receivers == ALL:
            receivers = tuple(node for node in sorted(topology.neighbours(sender)) if node not in missing)
        else:
            receivers = (post.receivers,) if isinstance(post.receivers, str) else tuple(sorted(set(post.receivers)))
            for receiver in receivers:
                if not topology.linked(sender, receiver):
                    raise ProtocolError(f"{sender!r} sent {kind} to {receiver!r}, which it has no edge to")
        if receivers:
            entries = post.letter.entries * len(receivers)
            payload = encode(post.letter)
            messages.append(
                Message(epoch, round_, sender, len(messages), receivers, kind, post.reason, entries, payload)
            )
    return messages


class Side(Protocol):
    """Some of the network's nodes and the place where they run."""

    def exchange(self, round_: int, inbox: Mapping[str, Sequence[Message]]) -> list[Message]:
        """Delivers a round's messages to the nodes of this side; what they send in return."""


def settle(sites: Side, inner: Side, sent: Sequence[Message], most_rounds: int, depth: int = 1) -> list[Message]:
    """Exchanges messages until no node has one left to send; all messages of the epoch in order of delivery.

    `sent` is what the sites said on their own account, in round 0. The inner nodes are called in the first `depth`
    rounds even if nobody spoke: upkeep of their own, or a silent branch below, may give them something to say.
    The bound on rounds is never below `depth`.
    """
    ledger: list[Message] = []
    round_, bound = 0, max(most_rounds, depth)
    while sent or round_ < max(depth, 1):
        ledger.extend(sorted(sent))
        round_ += 1
        if round_ > bound:
            raise ProtocolError(
                f"epoch {sent[0].epoch} has not settled within {bound} rounds;"
                f" still speaking: {', '.join(sorted({message.sender for message in sent})[:5])}"
            )
        inbox: dict[bool, dict[str, list[Message]]] = {True: {}, False: {}}
        for message in sorted(sent):
            for receiver in message.receivers:
                inbox[is_site(receiver)].setdefault(receiver, []).append(message)
        sent = inner.exchange(round_, inbox[False])
        if inbox[True]:
            sent = [*sent, *sites.exchange(round_, inbox[True])]
    return ledger
