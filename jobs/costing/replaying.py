"""Replays sealed epochs under variants of their monitor, side by side, and adds up what each would have sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from jobs.costing.stored import Stored
from jobs.costing.variants import Variant
from jobs.simulation.simulate import Cost
from jobs.terminal.progress import progress
from monitoring_lib.answers import Answers
from monitoring_lib.replay import Replay, Step


@dataclass(frozen=True)
class Span:
    """The epochs whose traffic counts: those that start in ``[start, end)``, in microseconds."""

    start: int
    end: int
    epochs: int

    def holds(self, start: int) -> bool:
        return self.start <= start < self.end

    def a_day(self, amount: float) -> float:
        return amount * _DAY / (self.end - self.start)


_DAY = 86_400_000_000


@dataclass
class RowWidths:
    """How far apart the bounds of the published rows were."""

    rows: int = 0
    unbounded: int = 0
    _finite: list[NDArray[np.float64]] = field(default_factory=list)

    def add(self, answers: Answers) -> None:
        widths = np.asarray(answers.column("high"), float) - np.asarray(answers.column("low"), float)
        finite = np.isfinite(widths)
        self.rows += len(widths)
        self.unbounded += int((~finite).sum())
        self._finite.append(widths[finite])

    @property
    def _all(self) -> NDArray[np.float64]:
        return np.concatenate([*self._finite, np.empty(0)])

    @property
    def median(self) -> float | None:
        found = self._all
        return float(np.median(found)) if len(found) else None

    @property
    def widest(self) -> float | None:
        found = self._all
        return float(found.max()) if len(found) else None


@dataclass
class Outcome:
    """What one variant would have done over the epochs that count."""

    variant: Variant
    span: Span
    cost: Cost = field(default_factory=Cost)
    widths: RowWidths = field(default_factory=RowWidths)

    def take(self, step: Step) -> None:
        if self.span.holds(step.moment.start):
            self.cost.add(step.settled.messages)
            self.widths.add(step.settled.answers)

    @property
    def bytes_a_day(self) -> float:
        return self.span.a_day(self.cost.bytes)


def replayed(stored: Stored, variants: Sequence[Variant], span: Span) -> list[Outcome]:
    """The variants over the chain from its first epoch on: so states are those of a run. What counts is the span."""
    outcomes = {str(at): Outcome(variant, span) for at, variant in enumerate(variants)}
    together: dict[object, dict[str, Variant]] = {}
    for label, one in outcomes.items():
        variant = one.variant
        shared = variant.method.ask.window, variant.method.placement()
        together.setdefault(shared, {})[label] = variant
    replays = [_Together(stored, group) for group in together.values()]
    wanted = list({one.variant.found.summary: one.variant.found for one in outcomes.values()}.values())
    last = max(at for at, seal in enumerate(stored.seals) if seal.epoch_start < span.end) + 1
    with progress("epochs replayed", last) as work:
        for epoch in stored.epochs(wanted, last):
            made = {found.summary: epoch.synopses(found) for found in wanted}
            for group in replays:
                joined = {member.site: group.placements[member.site] for member in epoch.joined}
                for step in group.replay.step(
                    epoch.number, joined, {one: made[one] for one in group.replay.summaries}, epoch.missing,
                    epoch.set_aside,
                ):  # fmt: skip
                    outcomes[step.method].take(step)
            work.advance()
    return list(outcomes.values())


class _Together:
    """Variants that share a window and the placements of the sites, in one replay."""

    def __init__(self, stored: Stored, variants: dict[str, Variant]) -> None:
        methods = [variant.method for variant in variants.values()]
        self.replay = Replay(stored.source.clock, methods, names=list(variants), judged=False)
        self.placements = next(iter(variants.values())).placements


def cheapest(outcomes: Iterable[Outcome]) -> Outcome:
    """That with the fewest bytes; of equals the most precise, then the first."""
    return min(outcomes, key=lambda one: (one.cost.bytes, one.variant.precision or 0.0))
