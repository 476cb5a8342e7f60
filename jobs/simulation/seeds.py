"""One trace under many seeds: whether what is promised with a probability holds as often as it says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from monitoring_lib.answers import Verdicts
from monitoring_lib.config import Monitor, Source
from monitoring_lib.methods import Method
from monitoring_lib.promises import broken_shares, most_broken
from monitoring_lib.protocols import find_method

MOST_AT_ONCE = 10
"""Draws that are replayed side by side: they share the reading of the trace and the exact answer, not the memory."""


@dataclass(frozen=True)
class Draw:
    """A method under another seed; `number` counts them from 1, the monitor's own seed is number 0."""

    number: int
    name: str
    method: Method

    @property
    def label(self) -> str:
        return f"{self.name} {self.number}"


def further_draws(monitor: Monitor, source: Source, names: Sequence[str], seeds: int) -> Iterator[Draw]:
    """The methods that draw, under each further seed. What draws nothing would do the same again."""
    for number in range(1, seeds):
        for name in names:
            ask = monitor.ask(source, name)
            if "seed" in type(ask.options).model_fields:
                options = ask.options.model_copy(update={"seed": ask.options.seed + number})
                yield Draw(number, name, find_method(monitor.question, name)(replace(ask, options=options)))


def in_batches(draws: Iterator[Draw]) -> Iterator[list[Draw]]:
    while batch := list(islice(draws, MOST_AT_ONCE)):
        yield batch


@dataclass(frozen=True, slots=True)
class Judgement:
    """All runs of one method against one confidence: the sum of their broken shares, and what is allowed of it."""

    method: str
    confidence: float
    runs: int
    broken: float
    allowed: float

    @property
    def kept(self) -> bool:
        return self.broken <= self.allowed


@dataclass
class Seeded:
    """The verdicts of every run on what was promised with a probability."""

    runs: dict[str, list[Verdicts]] = field(default_factory=dict)

    def take(self, found: Sequence[tuple[str, Sequence[Verdicts]]]) -> None:
        """One run's verdicts by method; its epochs are one draw."""
        for method, verdicts in found:
            if verdicts:
                self.runs.setdefault(method, []).append(Verdicts.concat(verdicts))

    @property
    def judgements(self) -> list[Judgement]:
        return [
            Judgement(method, confidence, len(shares), sum(shares), most_broken(len(shares), confidence))
            for method, runs in self.runs.items()
            for confidence, shares in sorted(broken_shares(runs).items())
        ]

    @property
    def kept(self) -> bool:
        return all(judgement.kept for judgement in self.judgements)
