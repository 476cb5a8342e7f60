"""The rounds of an epoch: messages are exchanged until no node has one left to send.

`settle` delivers what was sent, decoded from its encoded form, bounds the rounds, and returns the whole traffic as the
ledger of the epoch; `stamp` refuses an edge that the topology does not have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from monitoring_lib.codec import encode
from monitoring_lib.errors import ProtocolError
from monitoring_lib.network import ALL, Message, Post, is_site
from monitoring_lib.topology import Topology


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
                f" still sending: {', '.join(sorted({message.sender for message in sent})[:5])}"
            )
        inbox: dict[bool, dict[str, list[Message]]] = {True: {}, False: {}}
        for message in sorted(sent):
            for receiver in message.receivers:
                inbox[is_site(receiver)].setdefault(receiver, []).append(message)
        sent = inner.exchange(round_, inbox[False])
        if inbox[True]:
            sent = [*sent, *sites.exchange(round_, inbox[True])]
    return ledger
