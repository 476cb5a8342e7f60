"""Runs methods over made-up or real epochs, each epoch judged against exact sums."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from monitoring_lib.codec import encode
from monitoring_lib.engine import Network, Settled, replay
from monitoring_lib.epochs import Window
from monitoring_lib.errors import ProtocolError
from monitoring_lib.methods import Answer, Ask, Moment, Truth, Verdict
from monitoring_lib.network import Star
from monitoring_lib.protocols.topk.family import TopKMethod
from monitoring_lib.protocols.topk.question import TopKParams
from monitoring_lib.states import Kept, keep, mark, restore
from monitoring_lib.synopses.counts import Counts

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
    """One method over epochs. With `restored`, every state is stored and read back after every epoch."""

    method: TopKMethod
    restored: bool = False
    network: Network = field(init=False)
    truth: Truth = field(init=False)
    settled: list[Settled] = field(default_factory=list)
    verdicts: list[list[Verdict]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.network = Network(self.method)
        self.network.sites.keep = self._keep
        self.truth = self.method.question.truth(self.method.ask)
        self._held: dict[str, dict[int, Counts]] = {}
        self._seen: dict[str, int] = {}
        self._roster: tuple[str, ...] = ()
        self._epoch = -1
        self._rows: dict[str, list[Kept]] = {}
        self._quiet: dict[str, bytes] = {}

    def step(self, events: Epoch, missing: Collection[str] = (), sites: Iterable[str] | None = None) -> list[Answer]:
        """The next epoch; `sites` sets the roster, else it grows with the sites that have events."""
        self._epoch += 1
        self._roster = tuple(sorted(sites if sites is not None else {*self._roster, *events}))
        moment = Moment(
            self._epoch, self._epoch * 10, self._epoch * 10 + 10, self.method.ask.window.period_of(self._epoch),
            Star(self._roster), self._roster, frozenset(missing),
        )  # fmt: skip
        synopses = {site: Counts.of_pairs(items.items()) for site, items in events.items()}
        arriving = {site: synopses[site] for site in moment.present if site in synopses}
        expiring = {site: self._expired(site) for site in moment.present}
        for site, synopsis in arriving.items():
            self._held.setdefault(site, {})[self._epoch] = synopsis
        for node in moment.present:
            self.truth.observe(moment, node, arriving.get(node, Counts()), expiring.get(node, Counts()))
        settled = self.network.step(moment, arriving, expiring)
        self.settled.append(settled)
        self.verdicts.append(self.truth.judge(moment, settled.answers))
        for node, state in self.network.inner.states.items():
            faults = self.method.role(node).faults(state)
            if faults:
                raise BrokenPromiseError(f"epoch {self._epoch}: {faults}")
        for verdict in self.verdicts[-1]:
            if not verdict.kept:
                raise BrokenPromiseError(f"epoch {self._epoch}: {verdict}")
        if self.restored:
            self._restore(moment)
        return settled.answers

    def change(self, method: TopKMethod) -> None:
        """Goes on in the same chain under another ask."""
        assert method.continues(self.method.ask)
        self.method = self.network.method = self.network.sites.method = self.network.inner.method = method
        sums, by_site = self.truth.sums, self.truth._by_site  # type: ignore[attr-defined]
        roster, period = self.truth._roster, self.truth._period  # type: ignore[attr-defined]
        self.truth = method.question.truth(method.ask)
        for name, value in (("sums", sums), ("_by_site", by_site), ("_roster", roster), ("_period", period)):
            setattr(self.truth, name, value)

    def _expired(self, site: str) -> Counts:
        """What left the window since the site last observed; what happened while it was missing is lost."""
        held = self._held.get(site, {})
        leaving = self.method.ask.window.leaving(self._seen.get(site, self._epoch - 1), self._epoch)
        self._seen[site] = self._epoch
        gone = Counts()
        for epoch in leaving:
            gone = gone.merge(held.pop(epoch, Counts()))
        return gone

    def _keep(self, node: str, state: Any) -> None:
        if self.restored:
            self._store(node, state)

    def _store(self, node: str, state: Any) -> None:
        row = keep(state, self._quiet.get(node))
        if row is not None:
            self._rows.setdefault(node, []).append(row)
            self._quiet[node] = mark(state)

    def _restore(self, moment: Moment) -> None:
        """What the pipeline does: a site from its row and the epoch's messages, the coordinator from its row."""
        messages = self.settled[-1].messages
        for node in moment.present:
            state = restore(self.method.site.State, self._rows[node])
            mark(state)
            received = [message for message in messages if message.receiver == node]
            sent = [message for message in messages if message.sender == node and message.round > 0]
            replay(self.method, moment, node, state, received, sent)
            assert encode(state) == encode(self.network.sites.states[node]), node
            self.network.sites.states[node] = state
        for node, state in self.network.inner.states.items():
            self._store(node, state)
            again = restore(self.method.role(node).State, self._rows[node])
            assert encode(again) == encode(state), node
            mark(again)
            self.network.inner.states[node] = again

    @property
    def entries(self) -> int:
        return sum(message.entries for settled in self.settled for message in settled.messages)

    @property
    def told(self) -> list[list[tuple[str, str, int]]]:
        """Entries by epoch, sender and receiver."""
        return [
            [(message.sender, message.receiver, message.entries) for message in settled.messages]
            for settled in self.settled
        ]


@dataclass
class Story:
    """A made-up stream: sites, and epochs of events, with the sites that are missing in each."""

    window: Window
    params: dict[str, Any]
    epochs: list[tuple[Epoch, frozenset[str], tuple[str, ...]]]


def story(chance: random.Random, epochs: int = 12) -> Story:
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
    return Story(window, params, told)


def run_story(tale: Story, method: type[TopKMethod], options: Any = None, restored: bool = False) -> Run:
    run = Run(method(ask_for(method, tale.window, options=options, **tale.params)), restored)
    for events, missing, roster in tale.epochs:
        run.step(events, missing, roster)
    return run


def values_of(answers: Sequence[Answer]) -> list[tuple[str, float, float]]:
    return [(row.key, row.low, row.high) for row in answers if row.rank is not None]


def assert_told_apart(
    patched: Callable[[pytest.MonkeyPatch], None], seeds: Iterable[int], run: Callable[[Story], object]
) -> None:
    """Some story breaks what was patched and not what is there: the two are not the same."""
    for seed in seeds:
        tale = story(random.Random(seed))
        if tale.params["order"] != "largest":
            continue
        with pytest.MonkeyPatch.context() as patch:
            patched(patch)
            if _holds(tale, run):
                continue
        assert _holds(tale, run)
        return
    pytest.fail("no story tells the two apart")


def _holds(tale: Story, run: Callable[[Story], object]) -> bool:
    try:
        run(tale)
    except (BrokenPromiseError, ProtocolError):
        return False
    return True
