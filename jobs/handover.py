"""What one step hands to the next: the interval, and the ids of the writes to read. Small, and JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Self

from monitoring_lib.epochs import Clock, format_time
from monitoring_lib.errors import UsageError

if TYPE_CHECKING:
    from jobs.lake.store import Condition

GIVEN = "FARWATCH_GIVEN"
"""Environment variable that carries the hand-over of the step before."""


@dataclass
class Handover:
    """The run so far, over the epochs of ``[start, end)``.

    `monitors` says where each monitor begins (epochs before that are sealed already), `grounds` what the
    ledger said about it then, as a digest; `writes` maps a step's output to the write that holds it; `failed`
    names the monitors that may not be sealed, and why.
    """

    source: str
    start: int
    end: int
    only: list[str] = field(default_factory=list)
    revise: str = ""
    landing: int = 0
    monitors: dict[str, int] = field(default_factory=dict)
    grounds: dict[str, str] = field(default_factory=dict)
    writes: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)

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
        return cls(source, start, end, only, revise)

    @classmethod
    def from_json(cls, text: str) -> Self:
        try:
            plain = json.loads(text)
            if not isinstance(plain, dict) or plain.keys() != {each.name for each in fields(cls)}:
                raise ValueError("other keys than a hand-over has")
        except ValueError as error:
            raise UsageError(f"{GIVEN}: not the hand-over of a step ({error}); pass on its last line") from error
        return cls(**plain)

    @property
    def span(self) -> list[Condition]:
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
        return json.dumps(asdict(self), separators=(",", ":"))

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
