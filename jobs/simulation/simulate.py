"""A monitor's methods over a whole trace, side by side: what each would have said, cost and kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jobs.simulation.counting import Counting, EpochEvents
from jobs.simulation.seeds import Seeded, further_draws, in_batches
from jobs.simulation.tables import Tables
from jobs.simulation.trace import Trace, TraceOptions, open_trace
from jobs.simulation.trace_counts import Account, count
from jobs.terminal.progress import progress
from monitoring_lib.answers import Answers, Verdict, Verdicts
from monitoring_lib.config import Monitor, Source
from monitoring_lib.epochs import Clock
from monitoring_lib.errors import UsageError
from monitoring_lib.methods import Method
from monitoring_lib.network import Message
from monitoring_lib.protocols import find_method, find_question, methods
from monitoring_lib.replay import Replay, Step
from monitoring_lib.traffic import Loads


@dataclass
class Cost:
    """Traffic: messages as nodes batch them, entries as the papers count (one value, one message), bytes."""

    messages: int = 0
    entries: int = 0
    bytes: int = 0

    def add(self, messages: Sequence[Message]) -> None:
        self.messages += sum(message.links for message in messages)
        self.entries += sum(message.entries for message in messages)
        self.bytes += sum(message.bytes for message in messages)


@dataclass
class MethodOutcome:
    """What one method did over the trace."""

    method: str
    cost: Cost = field(default_factory=Cost)
    loads: Loads = field(default_factory=Loads)
    most_rounds: int = 0
    verdicts: int = 0
    broken: int = 0
    """Verdicts that were not kept."""
    certain_broken: int = 0
    """Those among them that were promised for always."""
    worst_error: float = 0.0
    first_broken: tuple[int, Verdict] | None = None
    answers: Answers = field(default_factory=Answers.of)
    """What it published at the end of the last epoch."""
    probable: list[Verdicts] = field(default_factory=list)
    """Verdicts on what was promised with a probability."""

    def take(self, step: Step) -> None:
        messages = step.settled.messages
        self.cost.add(messages)
        self.loads.add(step.moment, messages)
        self.most_rounds = max(self.most_rounds, 1 + max((message.round for message in messages), default=-1))
        self.answers = step.settled.answers
        self.verdicts += len(step.verdicts)
        self.worst_error = max((self.worst_error, *step.verdicts.column("error")))
        probable = step.verdicts.where_probable()
        if len(probable):
            self.probable.append(probable)
        broken = step.verdicts.where_broken()
        if len(broken):
            self.broken += len(broken)
            self.certain_broken += sum(confidence == 1 for confidence in broken.column("confidence"))
            self.first_broken = self.first_broken or (step.moment.start, next(iter(broken)))


@dataclass(frozen=True)
class Result:
    """A simulation from its first to its last epoch."""

    monitor: Monitor
    trace: Trace
    promise: str
    meaning: str
    clock: Clock
    epochs: int
    sites: int
    account: Account
    shipping: Cost
    """What sending every exact count of every site and epoch once would cost."""
    outcomes: tuple[MethodOutcome, ...]
    seeded: Seeded
    out: Path | None

    @property
    def promise_kept(self) -> bool:
        """Whether everything promised for always held, and what was promised with a probability as often as it says."""
        return not any(outcome.certain_broken for outcome in self.outcomes) and self.seeded.kept

    @property
    def baseline(self) -> MethodOutcome | None:
        name = find_question(self.monitor.question).baseline
        return next((outcome for outcome in self.outcomes if outcome.method == name), None)


def simulate(
    monitor: Monitor,
    asked: TraceOptions,
    known: Source | None,
    chosen: str | None,
    home: Path,
    out: Path | None,
    seeds: int = 1,
) -> Result:
    """Replays the trace, under as many seeds as asked for; tables of the first go to the folder `out`, if any."""
    names = _chosen(monitor, chosen)
    trace = open_trace(monitor, asked, known, home)
    running = [find_method(monitor.question, name)(monitor.ask(trace.source, name)) for name in names]
    exact = find_question(monitor.question).exact(running[0].ask)
    intakes = [monitor.intake(summary, trace.source) for summary in (exact, *(m.summary() for m in running))]
    placement = next((method.placement() for method in running if method.placement()), ())
    counting, account = count(trace, monitor, intakes, placement)
    exact_rows = intakes[0].name
    rows = {name: intake.name for name, intake in zip(names, intakes[1:], strict=True)}
    with Tables(out, monitor.name) as tables:
        first = _Run(trace, dict(zip(names, running, strict=True)), exact_rows, rows, tables)
        first.over(counting)
    seeded = Seeded()
    seeded.take([(outcome.method, outcome.probable) for outcome in first.outcomes.values()])
    for draws in in_batches(further_draws(monitor, trace.source, names, seeds)):
        drawn = {draw.label: draw.method for draw in draws}
        run = _Run(trace, drawn, exact_rows, {draw.label: rows[draw.name] for draw in draws})
        run.over(counting, f"epochs replayed under seeds {draws[0].number + 1} to {draws[-1].number + 1} of {seeds}")
        for draw in draws:
            outcome = run.outcomes[draw.label]
            seeded.take([(draw.name, outcome.probable)])
            first.outcomes[draw.name].certain_broken += outcome.certain_broken
    question, ask = find_question(monitor.question), running[0].ask
    return Result(
        monitor, trace, question.promise(ask), question.meaning(ask), counting.clock(), counting.last_epoch() + 1,
        first.sites, account, first.shipping, tuple(first.outcomes.values()), seeded, out,
    )  # fmt: skip


class _Run:
    """One replay of the trace, of methods each under a label. `rows` says which intake's rows each is given."""

    def __init__(
        self,
        trace: Trace,
        running: Mapping[str, Method],
        exact_rows: str,
        rows: Mapping[str, str],
        tables: Tables | None = None,
    ) -> None:
        self.trace, self.running, self.exact_rows, self.tables = trace, running, exact_rows, tables
        self.grouped = {method.summary(): rows[label] for label, method in running.items()}
        """Which rows a method's summary is built of: a seed changes the summary, never the rows."""
        self.outcomes = {label: MethodOutcome(label) for label in running}
        self.shipping = Cost()
        self.sites = 0

    def over(self, counting: Counting, what: str = "epochs replayed") -> None:
        replay = Replay(counting.clock(), list(self.running.values()), self.trace.sites, list(self.running))
        with progress(what, counting.last_epoch() + 1) as work:
            for epoch, events in counting.epochs():
                for step in replay.step(epoch, events.sites, self._synopses(replay, events)):
                    self.outcomes[step.method].take(step)
                    if self.tables is not None:
                        self.tables.add(step)
                work.advance()
        self.sites = len(replay.sites)

    def _synopses(self, replay: Replay, events: EpochEvents) -> dict[Any, dict[str, Any]]:
        made: dict[Any, dict[str, Any]] = {}
        for summary in replay.summaries:
            rows = events.rows[self.grouped.get(summary, self.exact_rows)]
            made[summary] = {site: summary.build(events.cell(site), found) for site, found in rows.items()}
        if self.tables is not None:  # shipping costs the same under every seed
            self._ship(made[replay.summaries[0]].values(), events)
        return made

    def _ship(self, synopses: Iterable[Any], events: EpochEvents) -> None:
        for synopsis in synopses:
            self.shipping.messages += 1
            self.shipping.bytes += synopsis.size
        self.shipping.entries += sum(len(found) for found in events.rows[self.exact_rows].values())


def _chosen(monitor: Monitor, chosen: str | None) -> list[str]:
    """The methods to run, the monitor's own first."""
    if chosen is None:
        return list(monitor.methods)
    if chosen == "all":
        known = sorted(name for _, name in methods(monitor.question))
        return [monitor.method, *(name for name in known if name != monitor.method)]
    names = list(dict.fromkeys(name.strip() for name in chosen.split(",") if name.strip()))
    if not names:
        raise UsageError("--methods: name at least one, or write all")
    for name in names:
        find_method(monitor.question, name)
    return names
