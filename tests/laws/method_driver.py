"""Runs a method through a story: sites that join, go missing and fall silent, with all that would be stored.

``python -m tests.laws.method_driver`` prints a digest of stories of every method, for comparing processes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import reduce
from random import Random
from typing import Any

from monitoring_lib import states
from monitoring_lib.engine import InnerNodes, LocalSites, Sites, replay, resolve
from monitoring_lib.epochs import Clock
from monitoring_lib.methods import Answer, Ask, Method, Moment, Verdict
from monitoring_lib.network import Message, is_site, node_of_site
from monitoring_lib.protocols import methods
from tests.laws.questions import Maker, makers
from tests.laws.toys import TOYS

SITES = ("Zürich", "@north", "*", "@all", "a/b\n'\"", "x" * 300, "site 7", "plain")
CLOCK = Clock(origin=0, length=60)


def subjects() -> list[type[Method]]:
    """Every method that the laws run over."""
    return [*methods().values(), *TOYS]


@dataclass(frozen=True)
class Chapter:
    """One epoch of a story."""

    moment: Moment
    arriving: dict[str, Any]
    expiring: dict[str, Any]


@dataclass(frozen=True)
class Story:
    kind: type[Method]
    ask: Ask
    chapters: list[Chapter]

    def method(self) -> Method:
        return self.kind(self.ask)


@dataclass
class _Author:
    """Draws a story; remembers what each site observed, for what leaves the window."""

    kind: type[Method]
    maker: Maker
    rng: Random
    roster: list[str] = field(default_factory=list)
    observed: dict[str, dict[int, Any]] = field(default_factory=dict)

    def write(self, epochs: int) -> Story:
        params, window, scale = self.maker.monitor(self.rng)
        ask = Ask(params, self.kind.Options(), window, scale)
        waiting = [node_of_site(site) for site in self.rng.sample(SITES, len(SITES))]
        self.roster = [waiting.pop() for _ in range(self.rng.randint(1, 4))]
        busy, chapters = 1.0, []
        for epoch in range(epochs + (window.length or 0) + 8):
            tail = epoch >= epochs
            if not tail and epoch % 4 == 0:
                busy = self.rng.choice([0, 0.3, 0.9])
            if waiting and not tail and self.rng.random() < 0.2:
                self.roster.append(waiting.pop())
            missing = {node for node in self.roster if not tail and self.rng.random() < 0.12}
            chapters.append(self._chapter(ask, epoch, missing, 0 if tail else busy))
        return Story(self.kind, ask, chapters)

    def _chapter(self, ask: Ask, epoch: int, missing: set[str], busy: float) -> Chapter:
        method, sites = self.kind(ask), tuple(self.roster)
        start, end = CLOCK.start_of(epoch), CLOCK.end_of(epoch)
        moment = Moment(
            epoch, start, end, ask.window.period_of(epoch), method.topology(sites), sites, frozenset(missing)
        )
        arriving, expiring = {}, {}
        for node in moment.present:
            past = self.observed.setdefault(node, {})
            leaving = [
                past[left] for left in ask.window.leaving(max(past, default=-1), epoch) if past.get(left) is not None
            ]
            if leaving:
                expiring[node] = reduce(lambda one, other: one.merge(other), leaving)
            past[epoch] = None
            if self.rng.random() < busy:
                past[epoch] = arriving[node] = self.maker.synopsis(self.rng, ask, node, start, end)
        return Chapter(moment, arriving, expiring)


def tell(kind: type[Method], seed: int, epochs: int = 20) -> Story:
    """A random story with a silent end. Sites join; any may be missing, from its first epoch on."""
    maker = makers()[kind.question.name]
    return _Author(kind, maker, Random(f"{kind.question.name}{seed}")).write(epochs)


@dataclass(frozen=True)
class Record:
    """All that an epoch leaves behind. `rows`: a site's after it observed, an inner node's at the end."""

    messages: list[Message]
    answers: list[Answer]
    rows: dict[str, states.Kept | None]

    def plain(self) -> tuple[Any, ...]:
        rows = sorted((node, row and astuple(row)) for node, row in self.rows.items())
        return [astuple(message) for message in self.messages], sorted(map(repr, self.answers)), rows


@dataclass
class Run:
    """A method's network that keeps its states as the pipeline's tables do."""

    method: Method
    quiet: dict[str, bytes] = field(default_factory=dict)
    rows: dict[str, states.Kept | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sites = LocalSites(self.method, keep=self.keep)
        self.inner = InnerNodes(self.method)

    def keep(self, node: str, state: Any) -> None:
        self.rows[node] = states.keep(state, self.quiet.get(node))
        self.quiet[node] = states.mark(state)

    def step(self, chapter: Chapter) -> Record:
        self.rows = {}
        sent = self.sites.observe(chapter.moment, chapter.arriving, chapter.expiring)
        return self.settle(chapter, self.sites, sent)

    def settle(self, chapter: Chapter, sites: Sites, sent: Sequence[Message]) -> Record:
        settled = resolve(chapter.moment, self.method, sites, self.inner, sent)
        for node in chapter.moment.topology.inner:
            self.keep(node, self.inner.states[node])
        return Record(settled.messages, settled.answers, self.rows)

    def go_on(self, chapters: Iterable[Chapter]) -> list[Record]:
        return [self.step(chapter) for chapter in chapters]


def read(story: Story) -> list[Record]:
    return Run(story.method()).go_on(story.chapters)


def restored(story: Story, records: Sequence[Record], done: int, only: str | None = None) -> Run:
    """A fresh run that knows the first `done` epochs from their rows and messages alone."""
    run = Run(story.method())
    last = story.chapters[done - 1].moment
    for node in [only] if only is not None else [*last.sites, *last.topology.inner]:
        role = run.method.site if is_site(node) else run.method.role(node)
        rows = [row for record in records[:done] if (row := record.rows.get(node)) is not None]
        state: Any = role.start(node)
        if rows:
            state = states.restore(role.State, rows)
            run.quiet[node] = states.mark(state)
        if not is_site(node):
            run.inner.states[node] = state
            continue
        run.sites.states[node] = state
        observed = [epoch for epoch in range(done) if node in records[epoch].rows]
        for epoch in range(max(observed, default=0), done):
            said = records[epoch].messages
            replay(
                run.method, story.chapters[epoch].moment, node, state,
                received=[message for message in said if message.receiver == node],
                sent=[message for message in said if message.sender == node and message.round >= 1],
            )  # fmt: skip
    return run


def verdicts(story: Story, records: Sequence[Record]) -> list[tuple[int, Verdict]]:
    """The judge's findings on every epoch, but for those on rows that only probably hold."""
    truth, found = story.kind.question.truth(story.ask), []
    empty = story.kind.question.summary(story.ask).empty()
    for chapter, record in zip(story.chapters, records, strict=True):
        for node in chapter.moment.present:
            arriving, expiring = chapter.arriving.get(node, empty), chapter.expiring.get(node, empty)
            truth.observe(chapter.moment, node, arriving, expiring)
        probable = {(row.node, row.tick, row.key) for row in record.answers if row.confidence < 1}
        for verdict in truth.judge(chapter.moment, record.answers):
            if (verdict.node, verdict.tick, verdict.key) not in probable:
                found.append((chapter.moment.epoch, verdict))
    return found


def shuffled(story: Story, rng: Random) -> Story:
    """The same story with every roster and every mapping in another order."""

    def mixed(pairs: dict[str, Any]) -> dict[str, Any]:
        return dict(rng.sample(list(pairs.items()), len(pairs)))

    chapters = []
    for chapter in story.chapters:
        sites = tuple(rng.sample(chapter.moment.sites, len(chapter.moment.sites)))
        moment = replace(chapter.moment, sites=sites, topology=story.method().topology(sites))
        chapters.append(Chapter(moment, mixed(chapter.arriving), mixed(chapter.expiring)))
    return replace(story, chapters=chapters)


def digest(records: Iterable[Record]) -> str:
    return hashlib.sha256(repr([record.plain() for record in records]).encode()).hexdigest()


def main() -> None:
    for kind in subjects():
        for seed in range(4):
            story = tell(kind, seed)
            records = read(story)
            after = restored(story, records, 10).go_on(story.chapters[10:])
            print(kind.question.name, kind.name, seed, digest(records), digest(after))


if __name__ == "__main__":
    main()
