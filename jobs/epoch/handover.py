"""What one step hands to the next: the interval, and the ids of the writes to read. Small, and JSON.

Steps in one process also hand on what they have in memory, in `Handover.local`; a step that finds nothing there reads
the tables.
"""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

from jobs.epoch.reasons import by_reason
from monitoring_lib.epochs import Clock, format_time
from monitoring_lib.errors import (
    CheckFailed,
    DataError,
    ExpectationFailed,
    FarwatchError,
    NotNow,
    Transient,
    UsageError,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from jobs.epoch.cursor import Cursor
    from jobs.epoch.plan import Plan
    from jobs.lake.conditions import RowCondition
    from monitoring_lib.network import Message

GIVEN = "FARWATCH_GIVEN"
"""Environment variable that carries the hand-over of the step before."""


@dataclass
class Local:
    """What stays in the process that made it. `sites` and `said` are by monitor and method."""

    plans: dict[str, Plan] = field(default_factory=dict)
    sites: dict[tuple[str, str], Any] = field(default_factory=dict)
    """The sites that `observe` has run here, for `resolve` to go on with."""
    said: dict[tuple[str, str], list[Message]] = field(default_factory=dict)
    """What the sites said on their own account in the first epoch."""
    written: dict[str, list[pa.Table] | None] = field(default_factory=dict)
    """By table, the rows that this process has written, for `validate`; None where they were too many to keep."""
    cursors: dict[str, Cursor] = field(default_factory=dict)
    """By monitor, as the last epoch that was worked on leaves it."""
    resolved: bool = False
    """Whether `observe` and `resolve` have run here."""


@dataclass
class Handover:
    """The run so far, over the epochs of ``[start, end)``.

    `monitors` says where each monitor begins (epochs before that are sealed already), `plans` the digest of each
    monitor's plan, which lies under the write of `gate`; `writes` maps a step's output to the write that holds
    it; `failed` names the monitors that may not be sealed, and why, `misused` those among them whose data or
    configuration is at fault; `sealed` names those that were sealed, and are published; `to_fill_in` names those
    that were added later and have no epoch yet, and what fills them in.
    """

    source: str
    start: int
    end: int
    only: list[str] = field(default_factory=list)
    revise: str = ""
    landing: int = 0
    monitors: dict[str, int] = field(default_factory=dict)
    plans: dict[str, str] = field(default_factory=dict)
    writes: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    misused: list[str] = field(default_factory=list)
    sealed: list[str] = field(default_factory=list)
    to_fill_in: dict[str, str] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)
    local: Local = field(default_factory=Local, repr=False, compare=False)
    """Does not travel: a hand-over that was read from text has nothing here."""

    @classmethod
    def begin(cls, source: str, clock: Clock, start: int, end: int, only: list[str], revise: str = "") -> Self:
        for name, moment in (("--from", start), ("--to", end)):
            if (moment - clock.origin) % clock.length:
                below = clock.start_of(clock.epoch_of(moment))
                raise UsageError(
                    f"{name} {format_time(moment)} is no border of an epoch of {source};"
                    f" the nearest are {format_time(below)} and {format_time(below + clock.length)}"
                )
        if not clock.origin <= start < end:
            raise UsageError(
                f"--from {format_time(start)} --to {format_time(end)} holds no epoch of {source}:"
                f" it must end after it begins, and begin at {format_time(clock.origin)} or later"
            )
        _refuse_what_has_not_ended(source, clock, start, end)
        return cls(source, start, end, only, revise)

    @classmethod
    def from_json(cls, text: str) -> Self:
        try:
            plain = json.loads(text)
            if not isinstance(plain, dict) or plain.keys() != {each.name for each in fields(cls)} - {"local"}:
                raise ValueError("other keys than a hand-over has")
        except ValueError as error:
            raise UsageError(f"{GIVEN}: not the hand-over of a step ({error}); pass on its last line") from error
        return cls(**plain)

    @property
    def span(self) -> list[RowCondition]:
        """The epochs of the run, to read no file that holds none of them."""
        return [("epoch_start", ">=", self.start), ("epoch_start", "<", self.end)]

    def for_same(self, asked: Handover) -> Handover:
        """This hand-over, if it is of the run that is asked for."""
        for name in ("source", "start", "end", "only", "revise"):
            if getattr(self, name) != getattr(asked, name):
                raise UsageError(
                    f"{GIVEN} is of another run: its {name} is {getattr(self, name)!r},"
                    f" this step was asked for {getattr(asked, name)!r}"
                )
        return self

    def to_json(self) -> str:
        plain = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "local"}
        return json.dumps(plain, separators=(",", ":"))

    @property
    def running(self) -> list[str]:
        """The monitors that have something to do and have not failed."""
        return sorted(self.monitors.keys() - self.failed.keys())

    @contextmanager
    def alone(self, monitor: str, tell: bool = True) -> Iterator[None]:
        """What raises inside fails this monitor alone; storage, Spark and the ledger concern all of them."""
        try:
            yield
        except (Transient, NotNow):
            raise
        except Exception as error:
            if not _is_of_monitor(error):
                raise
            self.fail(monitor, error, tell)

    def fail(self, monitor: str, error: Exception, tell: bool = True) -> None:
        """Notes why a monitor cannot be sealed, and says so unless others may have the same to say."""
        from jobs.lake.trouble import engine_trouble
        from jobs.terminal.console import say

        if not isinstance(error, FarwatchError):
            if type(error).__module__.startswith("pyspark"):
                error = engine_trouble(error)
            else:
                traceback.print_exception(error)  # a fault of ours, or of an installed method: somebody has to mend it
        known = isinstance(error, FarwatchError)
        self.failed[monitor] = str(error) if known else f"{type(error).__name__}: {error}"
        if not isinstance(error, CheckFailed):
            self.misused.append(monitor)
        named = self.failed[monitor].startswith((f"{monitor}:", f"{monitor},"))
        if tell:
            say(self.failed[monitor] if named else f"{monitor}: {self.failed[monitor]}", style="red")

    def failure(self) -> FarwatchError | None:
        """What the run ends with if monitors of it have failed: their data and configuration first."""
        reasons = [
            f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} not sealed: {reason}"
            for names, reason in by_reason(self.failed).items()
        ]
        if not reasons:
            return None
        kind = DataError if self.misused else ExpectationFailed
        return kind("; ".join(reasons))

    def write_of(self, output: str) -> str:
        """The write of an earlier step."""
        if output not in self.writes:
            raise UsageError(f"{GIVEN} names no write of {output!r}; run the steps before this one first")
        return self.writes[output]

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        self.times[step] = self.times.get(step, 0) + int((time.perf_counter() - begun) * 1_000_000)


def _refuse_what_has_not_ended(source: str, clock: Clock, start: int, end: int) -> None:
    """An epoch that goes on could be sealed without the events that are still to happen in it."""
    ended = clock.ended_by(int(time.time() * 1_000_000))
    if end <= ended:
        return
    if ended <= clock.origin:
        raise NotNow(f"no epoch of {source} has ended yet: the first ends at {format_time(clock.end_of(0))}")
    last = f"the last complete epoch of {source} is {format_time(ended - clock.length)}"
    if start >= ended:
        raise NotNow(f"--from {format_time(start)} lies in an epoch that has not ended; {last}")
    span = f"--from {format_time(start)} --to {format_time(ended)}"
    raise NotNow(
        f"--to {format_time(end)} takes in epochs that have not ended; {last}:"
        f" `farwatch run --source {source} {span}` runs up to it"
    )


def _is_of_monitor(error: Exception) -> bool:
    """An error of Spark itself is not; one that a role raised inside a task is."""
    return (
        type(error).__module__.split(".")[0] not in ("pyspark", "py4j", "grpc")
        or type(error).__name__ == "PythonException"
    )
