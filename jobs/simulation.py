"""A monitor's methods over a whole trace, side by side: what each would have said, cost and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jobs.counting import Cell
from jobs.progress import progress
from jobs.simulated_tables import Tables
from jobs.trace import Asked, Trace, open_trace
from jobs.trace_counts import Account, count
from monitoring_lib.config import Monitor, Source
from monitoring_lib.epochs import Clock
from monitoring_lib.errors import UsageError
from monitoring_lib.methods import Answer, Method, Verdict
from monitoring_lib.protocols import find_method, find_question, methods
from monitoring_lib.replay import Replay, Step
from monitoring_lib.synopses.counts import Counts

BASELINE = "caching"


@dataclass
class Cost:
    """Traffic: messages as nodes batch them, entries as the texts count (one value, one message), bytes."""

    messages: int = 0
    entries: int = 0
    bytes: int = 0


@dataclass
class Outcome:
    """What one method did over the trace."""

    method: str
    cost: Cost = field(default_factory=Cost)
    most_rounds: int = 0
    verdicts: int = 0
    broken: int = 0
    """Verdicts that were not kept."""
    certain_broken: int = 0
    """Those among them whose answer was promised for always."""
    worst_error: float = 0.0
    first_broken: tuple[int, Verdict] | None = None
    answers: list[Answer] = field(default_factory=list)
    """What it published at the end of the last epoch."""

    def take(self, step: Step) -> None:
        messages = step.settled.messages
        self.cost.messages += len(messages)
        self.cost.entries += sum(message.entries for message in messages)
        self.cost.bytes += sum(message.bytes for message in messages)
        self.most_rounds = max(self.most_rounds, 1 + max((message.round for message in messages), default=-1))
        self.answers = step.settled.answers
        self.verdicts += len(step.verdicts)
        self.worst_error = max((self.worst_error, *(verdict.error for verdict in step.verdicts)))
        broken = [verdict for verdict in step.verdicts if not verdict.kept]
        if broken:
            confidence = {(row.node, row.tick, row.key): row.confidence for row in step.settled.answers}
            least = min(confidence.values(), default=1.0)
            self.broken += len(broken)
            self.certain_broken += sum(
                confidence.get((verdict.node, verdict.tick, verdict.key), least) == 1 for verdict in broken
            )
            self.first_broken = self.first_broken or (step.moment.start, broken[0])


@dataclass(frozen=True)
class Result:
    """A simulation from its first to its last epoch."""

    monitor: Monitor
    trace: Trace
    promise: str
    clock: Clock
    epochs: int
    sites: int
    account: Account
    shipping: Cost
    """What sending every count of every site and epoch once would cost."""
    outcomes: tuple[Outcome, ...]
    out: Path | None

    @property
    def promise_kept(self) -> bool:
        """Whether everything that was promised for always held."""
        return not any(outcome.certain_broken for outcome in self.outcomes)

    @property
    def baseline(self) -> Outcome | None:
        return next((outcome for outcome in self.outcomes if outcome.method == BASELINE), None)


def simulate(
    monitor: Monitor, asked: Asked, known: Source | None, chosen: str | None, home: Path, out: Path | None
) -> Result:
    """Replays the trace; tables go to the folder `out`, if there is one."""
    names = _chosen(monitor, chosen)
    trace = open_trace(monitor, asked, known, home)
    epoch, scale = trace.source.epoch, trace.source.scale
    running = [find_method(monitor.question, name)(monitor.ask(epoch, scale, name)) for name in names]
    with Tables(out, monitor.name) as tables:
        return _replayed(monitor, trace, running, tables, out)


def _replayed(monitor: Monitor, trace: Trace, running: Sequence[Method], tables: Tables, out: Path | None) -> Result:
    question, ask = find_question(monitor.question), running[0].ask
    summary = question.summary(ask)
    counting, account = count(trace, monitor, summary.keys)
    clock, last = counting.clock(), counting.last_epoch()
    replay = Replay(clock, running, trace.sites)
    outcomes = {method.name: Outcome(method.name) for method in running}
    shipping = Cost()
    with progress("epochs replayed", last + 1) as work:
        for epoch, cells in counting.epochs():
            synopses: dict[str, Any] = {}
            for cell in cells:
                synopsis = synopses[cell.site] = summary.build(cell.keys, cell.sums)
                _ship(shipping, synopsis if isinstance(synopsis, Counts) else _counts(cell))
            for step in replay.step(epoch, synopses):
                outcomes[step.method].take(step)
                tables.add(step, clock)
            work.advance()
    return Result(
        monitor, trace, question.promise(ask), clock, last + 1, len(replay.sites), account, shipping,
        tuple(outcomes.values()), out,
    )  # fmt: skip


def _ship(shipping: Cost, counts: Counts) -> None:
    """The counts themselves as one message."""
    shipping.messages += 1
    shipping.entries += len(counts)
    shipping.bytes += counts.size


def _counts(cell: Cell) -> Counts:
    """What would be shipped in place of a sketch: every key with its sum."""
    keys = zip(*(column.to_pylist() for column in cell.keys.values()), strict=True)
    return Counts.of_pairs(zip((" ".join(map(str, key)) for key in keys), cell.sums.to_pylist(), strict=True))


def _chosen(monitor: Monitor, chosen: str | None) -> list[str]:
    """The methods to run, the monitor's own first."""
    if chosen is None:
        return list(monitor.methods)
    if chosen == "all":
        known = sorted(name for question, name in methods() if question == monitor.question)
        return [monitor.method, *(name for name in known if name != monitor.method)]
    names = list(dict.fromkeys(name.strip() for name in chosen.split(",") if name.strip()))
    if not names:
        raise UsageError("--methods: name at least one, or write all")
    for name in names:
        find_method(monitor.question, name)
    return names
