"""Runs methods over made-up or real epochs, each epoch judged against exact sums."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from monitoring_lib.answers import Answer, Answers, Verdicts
from monitoring_lib.codec import encode
from monitoring_lib.engine import Network, Settled, replay
from monitoring_lib.epochs import Window
from monitoring_lib.errors import ProtocolError
from monitoring_lib.methods import Ask, Moment
from monitoring_lib.protocols.topk.family import TopKMethod
from monitoring_lib.protocols.topk.question import TopKParams
from monitoring_lib.replay import History, Witness, is_partial
from monitoring_lib.states import Kept, Mark, keep, mark, restore
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.topology import Star

Epoch = Mapping[str, Mapping[str, int]]
"""Site to item to what happened."""


def ask_for(
    method: type[TopKMethod], window: Window | None = None, scale: int = 1, options: Any = None, **params: Any
) -> Ask:
    return Ask(TopKParams(**params), method.Options(**(options or {})), window or Window(), scale)


class BrokenPromiseError(AssertionError):
    """A verdict was not kept."""


@dataclass
class Run:
    """One method over epochs. With `restored`, every state is stored and read back after every epoch.

    Whole answers are judged against all events, partial ones against those that the sites took in.
    """

    method: TopKMethod
    restored: bool = False
    network: Network = field(init=False)
    settled: list[Settled] = field(default_factory=list)
    verdicts: list[Verdicts] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.network = Network(self.method)
        self.network.sites.keep = self._keep
        self._landed, self._taken = (Witness.of(self.method.question, self.method.ask) for _ in range(2))
        self._history = History(self.method.summary(), self.method.ask.window)
        self._owed: set[int] = set()
        self._roster: tuple[str, ...] = ()
        self._rows: dict[str, list[Kept]] = {}
        self._stored: dict[str, Mark] = {}

    def step(self, events: Epoch, missing: Collection[str] = (), sites: Iterable[str] | None = None) -> Answers:
        """The next epoch; `sites` sets the roster, else it grows with the sites that have events."""
        self._roster = tuple(sorted(sites if sites is not None else {*self._roster, *events}))
        moment = self._moment(events, frozenset(missing))
        synopses = {site: Counts.of_pairs(items.items()) for site, items in events.items() if items}
        complete = replace(moment, missing=frozenset(), owed=False)
        self._landed.observe(complete, synopses)
        self._taken.observe(moment, synopses)
        settled = self.network.step(moment, *self._history.observe(moment.epoch, synopses, moment.present))
        partial = is_partial(moment, settled.answers)
        witness = self._taken if partial else self._landed
        self.moments.append(moment)
        self.settled.append(settled)
        self.verdicts.append(witness.truth.judge(moment, settled.answers))
        for node, state in self.network.inner.states.items():
            faults = self.method.role(node).faults(state)
            if faults:
                raise BrokenPromiseError(f"epoch {moment.epoch}: {faults}")
        unsaid = partial and not len(settled.answers)  # a set without rows cannot say that it is partial
        for verdict in self.verdicts[-1]:
            if not verdict.kept and not (unsaid and verdict.promise == "set within tolerance"):
                raise BrokenPromiseError(f"epoch {moment.epoch}: {verdict}")
        if self.restored:
            self._restore(moment)
        return settled.answers

    def _moment(self, events: Epoch, missing: frozenset[str]) -> Moment:
        epoch, window = len(self.moments), self.method.ask.window
        if any(events.get(site) for site in missing):
            self._owed.add(epoch)
        return Moment(
            epoch, epoch * 10, epoch * 10 + 10, window.period_of(epoch), Star(self._roster), self._roster, missing,
            not self._owed.isdisjoint(window.members(epoch)),
        )  # fmt: skip

    def change(self, method: TopKMethod) -> None:
        """Goes on in the same chain under another ask."""
        assert method.continues(self.method.ask)
        self.method = self.network.method = self.network.sites.method = self.network.inner.method = method
        for witness in (self._landed, self._taken):
            before, now = vars(witness.truth), method.question.truth(method.ask)
            vars(now).update({name: before[name] for name in ("sums", "_by_site", "_roster", "_period")})
            witness.truth = now

    def _keep(self, node: str, state: Any) -> None:
        if self.restored:
            self._store(node, state)

    def _store(self, node: str, state: Any) -> None:
        row = keep(state, self._stored.get(node))
        if row is not None:
            self._rows.setdefault(node, []).append(row)
            self._stored[node] = mark(state, [row], self._stored.get(node))

    def _restore(self, moment: Moment) -> None:
        """What the pipeline does: a site from its row and the epoch's messages, the coordinator from its row."""
        messages = self.settled[-1].messages
        for node in moment.present:
            state = restore(self.method.site.State, self._rows[node])
            mark(state, [])
            received = [message for message in messages if node in message.receivers]
            sent = [message for message in messages if message.sender == node and message.round > 0]
            replay(self.method, moment, node, state, received, sent)
            assert encode(state) == encode(self.network.sites.states[node]), node
            self.network.sites.states[node] = state
        for node, state in self.network.inner.states.items():
            self._store(node, state)
            again = restore(self.method.role(node).State, self._rows[node])
            assert encode(again) == encode(state), node
            mark(again, [])
            self.network.inner.states[node] = again

    @property
    def sums(self) -> dict[str, int]:
        """The exact sum of every item, over all events that have landed."""
        sums: dict[str, int] = self._landed.truth.sums  # type: ignore[attr-defined]
        return sums

    @property
    def entries(self) -> int:
        return sum(message.entries for settled in self.settled for message in settled.messages)

    @property
    def told(self) -> list[list[tuple[str, tuple[str, ...], int]]]:
        """Entries by epoch, sender and receivers."""
        return [
            [(message.sender, message.receivers, message.entries) for message in settled.messages]
            for settled in self.settled
        ]


@dataclass
class Scenario:
    """A made-up stream: sites, and epochs of events, with the sites that are missing in each."""

    window: Window
    params: dict[str, Any]
    epochs: list[tuple[Epoch, frozenset[str], tuple[str, ...]]]


def draw_scenario(chance: random.Random, epochs: int = 12) -> Scenario:
    """Jumps, ties, silent epochs, items that vanish and return, sites that join, go missing or leave."""
    order = chance.choice(["largest", "largest", "largest", "smallest"])
    signed = chance.random() < 0.3
    sliding, resetting = Window(length=chance.randint(1, 4)), Window(reset=chance.randint(2, 5))
    window = chance.choice([Window(), Window(), sliding, resetting])
    params = {
        "k": chance.choice([1, 1, 2, 3, 5, 40]), "tolerance": chance.choice([0, 0, 0, 1, 4, 30, 1000]),
        "order": order, "signed": signed,
    }  # fmt: skip
    sites = [f"s{number}" for number in range(chance.choice([1, 2, 3, 5, 8]))]
    items = [chance.choice("abcdefghij\0@é") + str(number) for number in range(chance.choice([1, 3, 8, 30]))]
    size = chance.choice([1, 3, 20, 1000, 10**15 if chance.random() < 0.3 else 5])
    joins = {site: chance.choice([0, 0, 0, chance.randrange(epochs)]) for site in sites}
    joins[sites[0]] = 0
    leaves = {site: chance.randrange(epochs) if chance.random() < 0.08 else epochs for site in sites[1:]}
    troubled = chance.random() < 0.3
    held: dict[tuple[str, str], int] = {}
    told = []
    for epoch in range(epochs):
        roster = tuple(site for site in sites if joins[site] <= epoch < leaves.get(site, epochs))
        quiet = chance.random() < 0.15
        if window.reset and epoch % window.reset == 0:
            held.clear()
        missing = frozenset(site for site in roster if troubled and chance.random() < 0.2)
        events: dict[str, dict[str, int]] = {}
        for site in roster:
            happened: dict[str, int] = {}
            for item in items if site not in missing else ():
                if quiet or chance.random() < chance.choice([0.1, 0.5, 0.9]):
                    continue
                value = chance.randint(1, size) * (1 if chance.random() < 0.95 else 20)
                if signed and chance.random() < 0.4:
                    value = -value
                elif window.length is None and chance.random() < 0.05:  # a fall of a sum that should only grow
                    value = -min(value, held.get((site, item), 0))
                held[site, item] = held.get((site, item), 0) + value
                if value:
                    happened[item] = value
            events[site] = happened
        told.append((events, missing, roster))
    return Scenario(window, params, told)


def run_scenario(scenario: Scenario, method: type[TopKMethod], options: Any = None, restored: bool = False) -> Run:
    run = Run(method(ask_for(method, scenario.window, options=options, **scenario.params)), restored)
    for events, missing, roster in scenario.epochs:
        run.step(events, missing, roster)
    return run


def values_of(answers: Iterable[Answer]) -> list[tuple[str, float, float]]:
    return [(row.key, row.low, row.high) for row in answers if row.rank is not None]


def assert_told_apart(
    patched: Callable[[pytest.MonkeyPatch], None], seeds: Iterable[int], run: Callable[[Scenario], object]
) -> None:
    """Some scenario breaks what was patched and not what is there: the two are not the same."""
    for seed in seeds:
        scenario = draw_scenario(random.Random(seed))
        if scenario.params["order"] != "largest":
            continue
        with pytest.MonkeyPatch.context() as patch:
            patched(patch)
            if _holds(scenario, run):
                continue
        assert _holds(scenario, run)
        return
    pytest.fail("no scenario tells the two apart")


def _holds(scenario: Scenario, run: Callable[[Scenario], object]) -> bool:
    try:
        run(scenario)
    except (BrokenPromiseError, ProtocolError):
        return False
    return True
