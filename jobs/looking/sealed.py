"""One sealed epoch of a monitor, with the chain that led to it and the monitor as it was then."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from jobs.epoch.asked_then import monitor_then, source_then
from jobs.epoch.chain import cursor_of
from jobs.epoch.context import Context
from jobs.epoch.monitor_run import MonitorRun
from jobs.epoch.plan import Plan
from jobs.epoch.planning import with_past
from jobs.lake import Lake
from jobs.lake.seals import Seal
from jobs.looking.clock import now
from jobs.looking.sealed_chain import SealedChain, chain_of
from monitoring_lib.config import Monitor, Source
from monitoring_lib.epochs import format_time, parse_time
from monitoring_lib.errors import NotNow, UsageError
from monitoring_lib.methods import Method, Moment, Question
from monitoring_lib.protocols import find_method, find_question


@dataclass(frozen=True)
class SealedEpoch:
    """`chain` is the chain of current seals up to the epoch, that one included; `whole` goes on to the last.

    Of an epoch that is looked at briefly, both hold that epoch alone.
    """

    source: Source
    monitor: Monitor
    """As it is configured now."""
    seal: Seal
    chain: SealedChain
    whole: SealedChain

    @cached_property
    def then(self) -> Monitor:
        """The monitor as it was when the epoch was sealed."""
        return monitor_then(self.seal)

    @cached_property
    def source_then(self) -> Source:
        return source_then(self.seal)

    @property
    def question(self) -> Question:
        return find_question(self.then.question)

    @property
    def promise(self) -> str:
        return self.then.promise(self.source_then)

    @property
    def meaning(self) -> str:
        """The promise in a sentence."""
        return self.question.meaning(self.then.ask(self.source_then))

    def method(self, name: str | None = None) -> Method:
        """A method as it ran then; the one that was published without a name."""
        chosen = name or self.then.method
        if chosen not in self.then.methods:
            raise UsageError(
                f"{self.monitor.name} did not run {chosen!r} in epoch {format_time(self.seal.epoch_start)};"
                f" it ran {', '.join(self.then.methods)}"
            )
        return find_method(self.then.question, chosen)(self.then.ask(self.source_then, chosen))

    def run_after(self, lake: Lake) -> MonitorRun:
        """The run that would go on from this epoch: its states are those of the epoch's end."""
        cursor = cursor_of(lake, self.seal)
        bare = MonitorRun(self.source_then, self.then, Plan(self.monitor.name, self.seal.digest, "", cursor, ()))
        return replace(bare, plan=with_past(lake, bare))

    def moment(self, lake: Lake, method: Method) -> Moment:
        """What the nodes of a method knew of the epoch."""
        run = self.run_after(lake)
        return run.moment(method, run.plan.cursor.epoch)


def find_epoch(context: Context, name: str, time: str | None = None) -> SealedEpoch:
    """The epoch that holds a time, the last one without; NotNow if it is not sealed."""
    monitor = context.config.monitor(name)
    source = context.config.source(monitor.source or "")
    chain = chain_of(context.lake, source.name, name)
    starts = chain.starts
    start = int(starts[-1]) if time is None and len(starts) else _start(source, time)
    if start not in starts:
        raise NotNow(_not_sealed(source, monitor, starts, start))
    [seal] = context.lake.ledger.seals(source.name, name, start, start + 1)
    return SealedEpoch(source, monitor, seal, chain.until(start), chain)


def last_epoch(context: Context, name: str) -> SealedEpoch:
    """The last one, without the chain that led to it; NotNow if none is sealed."""
    monitor = context.config.monitor(name)
    source = context.config.source(monitor.source or "")
    seal = context.lake.ledger.last(source.name, name)
    if seal is None:
        raise NotNow(_not_sealed(source, monitor, np.zeros(0, np.int64), source.origin))
    alone = chain_of(context.lake, source.name, name, seal.epoch_start)
    return SealedEpoch(source, monitor, seal, alone, alone)


def _start(source: Source, time: str | None) -> int:
    if time is None:
        return source.origin
    try:
        moment = parse_time(time)
    except ValueError as error:
        raise UsageError(f"--epoch: {error}") from error
    if moment < source.origin:
        raise UsageError(
            f"--epoch {format_time(moment)}: the epochs of {source.name} begin at {format_time(source.origin)}"
        )
    return source.clock.start_of(source.clock.epoch_of(moment))


def _not_sealed(source: Source, monitor: Monitor, starts: NDArray[np.int64], start: int) -> str:
    first = int(starts[-1]) + source.epoch if len(starts) else source.origin
    there = (
        f"epoch {format_time(start)} is not sealed, those from {format_time(int(starts[0]))} to"
        f" {format_time(int(starts[-1]))} are"
        if len(starts)
        else "no epoch is sealed yet"
    )
    end = min(max(first, start) + source.epoch, source.clock.ended_by(now()))
    if end <= first:
        return f"{monitor.name}: {there}; the next ends at {format_time(first + source.epoch)}"
    return (
        f"{monitor.name}: {there}; go on by"
        f" `farwatch run --source {source.name} --from {format_time(first)} --to {format_time(end)}`"
    )
