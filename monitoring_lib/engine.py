"""The nodes of one monitor in one process: the engine of the simulator and of the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from itertools import zip_longest
from typing import Any, Protocol

from monitoring_lib.answers import Answers
from monitoring_lib.errors import ProtocolError
from monitoring_lib.methods import Method, Moment
from monitoring_lib.network import Delivery, Message, Post, is_site
from monitoring_lib.settling import settle, stamp
from monitoring_lib.summaries import Cell

States = dict[str, Any]
Keep = Callable[[str, Any], None]


class Sites(Protocol):
    """The sites' side of an epoch, wherever it runs; its sites have observed before `resolve` begins."""

    def exchange(self, round_: int, inbox: Mapping[str, Sequence[Message]]) -> list[Message]:
        """Delivers a round's messages to the sites; what they send in return."""

    def take_upkeep(self, round_: int, inbox: Mapping[str, Sequence[Message]]) -> None:
        """Hands the sites what the inner nodes said once all had settled, before they next observe."""

    def answers(self) -> Answers:
        """What the present sites publish once the epoch has settled."""


def _nothing_kept(node: str, state: Any) -> None:
    """For a simulation, which needs no history."""


@dataclass
class LocalSites:
    """The sites' side in this process. `keep` is called with each site's state after it has observed."""

    method: Method
    states: States = field(default_factory=dict)
    keep: Keep = _nothing_kept
    moment: Moment = field(init=False)

    def observe(self, moment: Moment, arriving: Mapping[str, Any], expiring: Mapping[str, Any]) -> list[Message]:
        """One epoch's events at every present site; what the sites say on their own account."""
        self.moment = moment
        sent: list[Message] = []
        nothing = Nothing(self.method, moment)
        for node in moment.present:
            state = self._state(node)
            came, went = arriving.get(node), expiring.get(node)
            posts = self.method.site.observe(
                state, moment, nothing.at(node) if came is None else came, nothing.at(node) if went is None else went
            )
            sent += _stamped(moment, 0, node, posts)
            self.keep(node, state)
        return sent

    def exchange(self, round_: int, inbox: Mapping[str, Sequence[Message]]) -> list[Message]:
        sent: list[Message] = []
        letters = Opened(self.method)
        for node, messages in inbox.items():
            sent += receive(self.method, self.moment, node, self._state(node), messages, round_, letters)
        return sent

    def _state(self, node: str) -> Any:
        """A site that is missing from its first epoch on can be written to before it has ever observed."""
        if node not in self.states:
            self.states[node] = self.method.site.start(node)
        return self.states[node]

    def take_upkeep(self, round_: int, inbox: Mapping[str, Sequence[Message]]) -> None:
        refuse_words(self.exchange(round_, inbox))

    def answers(self) -> Answers:
        role = self.method.site
        if not role.publishes:
            return Answers.of()
        return Answers.concat(role.answers(self._state(node), self.moment) for node in self.moment.present)


@dataclass
class InnerNodes:
    """The coordinator and a tree's inner nodes, always in the process of `resolve` or of the simulator."""

    method: Method
    states: States = field(default_factory=dict)
    moment: Moment = field(init=False)

    def begin(self, moment: Moment) -> None:
        self.moment = moment
        for node in moment.topology.inner:
            if node not in self.states:
                self.states[node] = self.method.role(node).start(node)

    def exchange(self, round_: int, inbox: Mapping[str, Sequence[Message]]) -> list[Message]:
        sent: list[Message] = []
        letters, depth = Opened(self.method), self.moment.topology.depth
        for node in self.moment.topology.inner:
            if round_ <= depth or node in inbox:
                messages = inbox.get(node, ())
                sent += receive(self.method, self.moment, node, self.states[node], messages, round_, letters)
        return sent

    def close(self, round_: int) -> list[Message]:
        sent: list[Message] = []
        for node in self.moment.topology.inner:
            role: Any = self.method.role(node)
            posts = role.close(self.states[node], self.moment)
            sent += _stamped(self.moment, round_, node, posts)
        return sent

    def answers(self) -> Answers:
        return Answers.concat(
            self.method.role(node).answers(self.states[node], self.moment) for node in self.moment.topology.inner
        )


class Nothing:
    """What a site takes in where nothing happened: the synopsis of no events, made once for all sites alike."""

    def __init__(self, method: Method, moment: Moment) -> None:
        self._summary, self._moment, self._tick = method.summary(), moment, method.ask.tick
        self._made: Any = None

    def at(self, node: str) -> Any:
        if self._made is None:
            moment = self._moment
            self._made = self._summary.empty(Cell("", moment.epoch, moment.start, moment.end, self._tick))
        return self._made


class Opened:
    """The letters of one round, each decoded once however many nodes it was sent to."""

    def __init__(self, method: Method) -> None:
        self._letters = method.letters
        self._known: dict[tuple[str, int], Delivery] = {}

    def delivery(self, message: Message) -> Delivery:
        if message.links == 1:
            return message.delivery(self._letters)
        key = message.sender, message.position
        if key not in self._known:
            self._known[key] = message.delivery(self._letters)
        return self._known[key]


def _stamped(moment: Moment, round_: int, node: str, posts: Iterable[Post]) -> list[Message]:
    return stamp(moment.topology, moment.missing, moment.epoch, round_, node, posts)


def receive(
    method: Method, moment: Moment, node: str, state: Any, messages: Sequence[Message], round_: int,
    opened: Opened | None = None,
) -> list[Message]:  # fmt: skip
    """One node takes in one round's messages; what it sends in return."""
    role = method.site if is_site(node) else method.role(node)
    letters = opened or Opened(method)
    deliveries = [letters.delivery(message) for message in messages]
    sent = _stamped(moment, round_, node, role.receive(state, moment, round_, deliveries))
    if sent and node in moment.missing:
        raise ProtocolError(
            f"{node!r} is missing in epoch {moment.epoch} and must not send, yet it answers"
            f" {messages[0].kind} of {messages[0].sender!r}"
        )
    return sent


def refuse_words(spoke: Sequence[Message]) -> None:
    """Upkeep is taken in silently: an answer to it would come after the epoch's last round."""
    if spoke:
        raise ProtocolError(f"{spoke[0].sender!r} answered the upkeep of epoch {spoke[0].epoch}: it must not")


def replay(
    method: Method,
    moment: Moment,
    node: str,
    state: Any,
    received: Sequence[Message],
    sent: Sequence[Message],
) -> None:
    """Brings a site's state from right after it observed an epoch to the epoch's end.

    `received` are the messages of the epoch to this site, upkeep included; `sent` those which it is recorded
    to have sent in return, in rounds 1 and later. What it says now must equal them in every field.
    """
    again: list[Message] = []
    for round_, messages in _by(sorted(received), lambda message: message.round).items():
        again += receive(method, moment, node, state, messages, round_ + 1)
    for now, then in zip_longest(again, sorted(sent)):
        if now is None or then is None or astuple(now) != astuple(then):
            raise ProtocolError(
                f"{method.name}: replaying epoch {moment.epoch}, {node!r} sends {now or 'nothing'} where"
                f" {then or 'nothing'} is recorded, or payloads differ; its state or messages are damaged,"
                " or the method has changed: revise the epoch"
            )


def _by(messages: Iterable[Message], key: Callable[[Message], Any]) -> dict[Any, list[Message]]:
    groups: dict[Any, list[Message]] = {}
    for message in messages:
        groups.setdefault(key(message), []).append(message)
    return groups


@dataclass(frozen=True)
class Settled:
    """One epoch's traffic, in order of delivery, and what was published at its end."""

    messages: list[Message]
    answers: Answers


def resolve(moment: Moment, method: Method, sites: Sites, inner: InnerNodes, sent: Sequence[Message]) -> Settled:
    """Rounds until settled, then the inner nodes' upkeep, which its receivers take in without a word."""
    inner.begin(moment)
    ledger = settle(sites, inner, sent, method.most_rounds(len(moment.sites)), moment.topology.depth)
    last = max(moment.topology.depth, 1 + max((message.round for message in ledger), default=0))
    closing = sorted(inner.close(last))
    answers = Answers.concat([sites.answers(), inner.answers()])
    inbox: dict[str, list[Message]] = {}
    for message in closing:
        for receiver in message.receivers:
            inbox.setdefault(receiver, []).append(message)
    refuse_words(inner.exchange(last + 1, {node: inbox[node] for node in inbox if not is_site(node)}))
    to_sites = {node: inbox[node] for node in inbox if is_site(node)}
    if to_sites:
        sites.take_upkeep(last + 1, to_sites)
    return Settled([*ledger, *closing], answers.as_partial() if moment.owed else answers)


class Network:
    """A monitor's whole network in this process: one call an epoch."""

    def __init__(self, method: Method) -> None:
        self.method = method
        self.sites = LocalSites(method)
        self.inner = InnerNodes(method)

    def step(self, moment: Moment, arriving: Mapping[str, Any], expiring: Mapping[str, Any]) -> Settled:
        sent = self.sites.observe(moment, arriving, expiring)
        return resolve(moment, self.method, self.sites, self.inner, sent)
