"""One sealed epoch of a monitor, with the chain that led to it and the monitor as it was then."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from jobs.context import Context
from jobs.lake.seals import Seal
from jobs.looking.marks import Marks, marks_of
from monitoring_lib.config import Monitor, Source
from monitoring_lib.epochs import format_time, parse_time
from monitoring_lib.errors import NotNow, UsageError
from monitoring_lib.methods import Method
from monitoring_lib.protocols import find_method, find_question

_OWN_KEYS = ("name", "question", "source", "method", "item", "measure", "window", "reset")


@dataclass(frozen=True)
class SealedEpoch:
    """`marks` is the chain of current seals up to the epoch, that one included; `whole` goes on to the last."""

    source: Source
    monitor: Monitor
    """As it is configured now."""
    seal: Seal
    marks: Marks
    whole: Marks

    @cached_property
    def then(self) -> Monitor:
        """The monitor as it was when the epoch was sealed."""
        return monitor_of(self.seal)

    @property
    def promise(self) -> str:
        return self.then.promise(self.source.epoch, scale_of(self.seal))

    def method(self, name: str | None = None) -> Method:
        """A method as it ran then; the one that was published without a name."""
        chosen = name or self.then.method
        if chosen not in self.then.methods:
            raise UsageError(
                f"{self.monitor.name} did not run {chosen!r} in epoch {format_time(self.seal.epoch_start)};"
                f" it ran {', '.join(self.then.methods)}"
            )
        return find_method(self.then.question, chosen)(self.then.ask(self.source.epoch, scale_of(self.seal), chosen))


def find_epoch(context: Context, name: str, time: str | None = None) -> SealedEpoch:
    """The epoch that holds a time, the last one without; NotNow if it is not sealed."""
    monitor = context.config.monitor(name)
    source = context.config.source(monitor.source or "")
    marks = marks_of(context.lake, source.name, name)
    starts = marks.starts
    start = int(starts[-1]) if time is None and len(starts) else _start(source, time)
    if start not in starts:
        raise NotNow(_not_sealed(source, monitor, starts, start))
    [seal] = context.lake.ledger.seals(source.name, name, start, start + 1)
    return SealedEpoch(source, monitor, seal, marks.until(start), marks)


def monitor_of(seal: Seal) -> Monitor:
    """The monitor that a seal records."""
    asked = json.loads(seal.config)["monitor"]
    try:
        return Monitor(
            **{name: asked[name] for name in _OWN_KEYS},
            params=find_question(asked["question"]).Params(**asked["params"]),
            shadow=tuple(asked["shadow"]),
            options={
                name: find_method(asked["question"], name).Options(**options)
                for name, options in asked["options"].items()
            },
        )
    except (KeyError, ValidationError) as error:
        raise UsageError(
            f"{seal.monitor}, epoch {format_time(seal.epoch_start)}: sealed by release {seal.code_version} under a"
            f" configuration that this release cannot read ({error}); look at it with that one"
        ) from error


def scale_of(seal: Seal) -> int:
    return int(json.loads(seal.config)["source"]["scale"])


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
    end = format_time(max(first, start) + source.epoch)
    return (
        f"{monitor.name}: {there}; go on by"
        f" `farwatch run --source {source.name} --from {format_time(first)} --to {end}`"
    )
