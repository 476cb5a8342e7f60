"""Runs a method through a scenario: sites that join, go missing and fall silent, with all that would be stored.

``python -m tests.laws.method_driver`` prints a digest of scenarios of every method, for comparing processes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from random import Random
from typing import Any

from monitoring_lib import states
from monitoring_lib.answers import Answers, Verdict
from monitoring_lib.engine import InnerNodes, LocalSites, Sites, replay, resolve
from monitoring_lib.epochs import Clock, Window
from monitoring_lib.methods import Ask, Method, Moment
from monitoring_lib.network import Message, is_site, node_of_site
from monitoring_lib.protocols import methods
from monitoring_lib.replay import History, Witness, is_partial
from monitoring_lib.summaries import Cell, Summary
from monitoring_lib.topology import Roster
from tests.laws.grouping import synopsis_of
from tests.laws.questions import EPOCH, Event, Maker, makers
from tests.laws.toys import TOYS

SITES = ("Zürich", "@north", "*", "@all", "a/b\n'\"", "x" * 300, "site 7", "plain")
CLOCK = Clock(origin=0, length=EPOCH)
DIGESTED = range(4)
"""The scenarios of each method that processes are compared by."""


def subjects() -> list[type[Method]]:
    """Every method that the laws run over."""
    return [*methods().values(), *TOYS]


@dataclass(frozen=True)
class EpochInput:
    """One epoch of a scenario. `events` holds what landed, also of sites that are missing."""

    moment: Moment
    events: dict[str, Sequence[Event]]
    arriving: dict[str, Any]
    expiring: dict[str, Any]


@dataclass(frozen=True)
class Scenario:
    kind: type[Method]
    ask: Ask
    inputs: list[EpochInput]
    roster: Roster

    def method(self) -> Method:
        return self.kind(self.ask)


@dataclass
class _ScenarioMaker:
    """Draws a scenario. Sites that are missing may leave events, which are owed from then on."""

    kind: type[Method]
    maker: Maker
    rng: Random
    roster: Roster = field(default_factory=Roster)
    owed: set[int] = field(default_factory=set)
    present: frozenset[str] = frozenset()

    def make(self, epochs: int) -> Scenario:
        ask = self.maker.ask(self.rng, self.kind)
        method = self.kind(ask)
        history = History(method.summary(), ask.window if method.needs_expiring else Window())
        waiting = [node_of_site(site) for site in self.rng.sample(SITES, len(SITES))]
        self._join(waiting.pop() for _ in range(self.rng.randint(1, 4)))
        busy, inputs = 1.0, []
        for epoch in range(epochs + (ask.window.length or 0) + 8):
            tail = epoch >= epochs
            if not tail and epoch % 4 == 0:
                busy = self.rng.choice([0, 0.3, 0.9])
            if waiting and not tail and self.rng.random() < 0.2:
                self._join([waiting.pop()])
            missing = {node for node in self.roster.nodes if not tail and self.rng.random() < 0.12}
            inputs.append(self._input(method, history, epoch, missing, 0 if tail else busy))
        return Scenario(self.kind, ask, inputs, self.roster)

    def _join(self, nodes: Iterable[str]) -> None:
        self.roster = self.roster.joined({node: self.maker.placement(node) for node in nodes})

    def _input(self, method: Method, history: History, epoch: int, missing: set[str], busy: float) -> EpochInput:
        ask = method.ask
        start, end = CLOCK.start_of(epoch), CLOCK.end_of(epoch)
        events: dict[str, Sequence[Event]] = {}
        for node in self.roster.nodes:
            if self.rng.random() < (busy / 4 if node in missing else busy):
                events[node] = self.maker.events(self.rng, ask, Cell(node, epoch, start, end, ask.tick))
        if not missing.isdisjoint(events):
            self.owed.add(epoch)
        moment = Moment(
            epoch, start, end, ask.window.period_of(epoch), method.topology(self.roster), self.roster.sites,
            frozenset(missing), not self.owed.isdisjoint(ask.window.members(epoch)),
            frozenset(self.roster.nodes) - missing - self.present,
        )  # fmt: skip
        self.present = frozenset(moment.present)
        arriving, expiring = history.observe(epoch, synopses(method.summary(), moment, ask, events), moment.present)
        return EpochInput(moment, events, arriving, expiring)


def synopses(summary: Summary, moment: Moment, ask: Ask, events: Mapping[str, Sequence[Event]]) -> dict[str, Any]:
    """By node, of those where something happened."""
    return {
        node: synopsis_of(summary, Cell(node, moment.epoch, moment.start, moment.end, ask.tick), found)
        for node, found in events.items()
    }


def draw_scenario(kind: type[Method], seed: int, epochs: int = 20) -> Scenario:
    """A random scenario with a silent end. Sites join; any may be missing, from its first epoch on."""
    maker = makers()[kind.question.name]
    return _ScenarioMaker(kind, maker, Random(f"{kind.question.name}{seed}")).make(epochs)


@dataclass(frozen=True)
class Record:
    """All that an epoch leaves behind. `rows`: a site's after it observed, an inner node's at the end."""

    messages: list[Message]
    answers: Answers
    rows: dict[str, states.Kept | None]

    def plain(self) -> tuple[Any, ...]:
        rows = sorted((node, row and astuple(row)) for node, row in self.rows.items())
        return [astuple(message) for message in self.messages], sorted(map(repr, self.answers)), rows


@dataclass
class Run:
    """A method's network that keeps its states as the pipeline's tables do."""

    method: Method
    stored: dict[str, states.Mark] = field(default_factory=dict)
    rows: dict[str, states.Kept | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sites = LocalSites(self.method, keep=self.keep)
        self.inner = InnerNodes(self.method)

    def keep(self, node: str, state: Any) -> None:
        self.rows[node] = row = states.keep(state, self.stored.get(node))
        self.stored[node] = states.mark(state, [row] if row else [], self.stored.get(node))

    def step(self, given: EpochInput) -> Record:
        self.rows = {}
        sent = self.sites.observe(given.moment, given.arriving, given.expiring)
        return self.settle(given, self.sites, sent)

    def settle(self, given: EpochInput, sites: Sites, sent: Sequence[Message]) -> Record:
        settled = resolve(given.moment, self.method, sites, self.inner, sent)
        for node in given.moment.topology.inner:
            self.keep(node, self.inner.states[node])
        return Record(settled.messages, settled.answers, self.rows)

    def go_on(self, inputs: Iterable[EpochInput]) -> list[Record]:
        return [self.step(given) for given in inputs]


def run_scenario(scenario: Scenario) -> list[Record]:
    return Run(scenario.method()).go_on(scenario.inputs)


def restored(scenario: Scenario, records: Sequence[Record], done: int, only: str | None = None) -> Run:
    """A fresh run that knows the first `done` epochs from their rows and messages alone."""
    run = Run(scenario.method())
    last = scenario.inputs[done - 1].moment
    for node in [only] if only is not None else [*last.sites, *last.topology.inner]:
        role = run.method.site if is_site(node) else run.method.role(node)
        rows = [row for record in records[:done] if (row := record.rows.get(node)) is not None]
        state: Any = role.start(node)
        if rows:
            state = states.restore(role.State, rows)
            run.stored[node] = states.mark(state, rows)
        if not is_site(node):
            run.inner.states[node] = state
            continue
        run.sites.states[node] = state
        observed = [epoch for epoch in range(done) if node in records[epoch].rows]
        for epoch in range(max(observed, default=0), done):
            said = records[epoch].messages
            replay(
                run.method, scenario.inputs[epoch].moment, node, state,
                received=[message for message in said if node in message.receivers],
                sent=[message for message in said if message.sender == node and message.round >= 1],
            )  # fmt: skip
    return run


def verdicts(scenario: Scenario, records: Sequence[Record]) -> list[tuple[int, Verdict]]:
    """The judge's findings on every epoch: whole answers against all that landed, partial ones against the taken."""
    question, found = scenario.kind.question, []
    landed, taken = (Witness.of(question, scenario.ask) for _ in range(2))
    for given, record in zip(scenario.inputs, records, strict=True):
        moment = given.moment
        complete = replace(moment, missing=frozenset(), owed=False)
        seen = synopses(landed.summary, moment, scenario.ask, given.events)
        landed.observe(complete, seen)
        taken.observe(moment, seen)
        partial = is_partial(moment, record.answers)
        judged = taken.truth.judge(moment, record.answers) if partial else landed.truth.judge(moment, record.answers)
        found += [(moment.epoch, verdict) for verdict in judged]
    return found


def shuffled(scenario: Scenario, rng: Random) -> Scenario:
    """The same scenario with every mapping in another order."""

    def mixed(pairs: dict[str, Any]) -> dict[str, Any]:
        return dict(rng.sample(list(pairs.items()), len(pairs)))

    inputs = []
    for given in scenario.inputs:
        sites = tuple(rng.sample(given.moment.sites, len(given.moment.sites)))
        moment = replace(given.moment, sites=sites)
        inputs.append(EpochInput(moment, given.events, mixed(given.arriving), mixed(given.expiring)))
    return replace(scenario, inputs=inputs)


def digest(records: Iterable[Record]) -> str:
    return hashlib.sha256(repr([record.plain() for record in records]).encode()).hexdigest()


def digests(scenario: Scenario, records: Sequence[Record]) -> str:
    """A line about a scenario, and about its second part as told after a restart."""
    after = restored(scenario, records, 10).go_on(scenario.inputs[10:])
    return f"{scenario.kind.question.name} {scenario.kind.name} {digest(records)} {digest(after)}"


def main() -> None:
    for kind in subjects():
        for seed in DIGESTED:
            scenario = draw_scenario(kind, seed)
            print(digests(scenario, run_scenario(scenario)))


if __name__ == "__main__":
    main()
