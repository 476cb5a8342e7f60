"""What an audit found, of each monitor: promises kept and broken, the worst error beside the allowed one, damage."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from jobs.auditing.scope import Stretch
from jobs.quality.findings import Finding
from monitoring_lib.answers import Verdict, Verdicts
from monitoring_lib.promises import CHANCE

_MOST_KEPT = 20
"""Broken verdicts that a report names; the table `verdicts` holds all."""
_FEW_DRAWS = 3
"""Below so many windows without a common event, the rows of a probable promise are hardly more than one draw."""


@dataclass(frozen=True)
class Broken:
    """A promise that an epoch's answer did not keep."""

    epoch_start: int
    verdict: Verdict


@dataclass
class Observed:
    """A promise of one confidence: how often it was judged and broken, and the error nearest to the allowed one."""

    promise: str
    confidence: float
    judged: int = 0
    broken: int = 0
    error: float = 0.0
    allowed: float = math.inf
    draws: set[int] = field(default_factory=set, repr=False)
    """The windows, none of which shares an event with another, that it was judged in."""

    def add(self, verdict: Verdict, draw: int) -> None:
        self.judged += 1
        self.broken += not verdict.kept
        self.draws.add(draw)
        if self.judged == 1 or _share(verdict.error, verdict.allowed) > self.share:
            self.error, self.allowed = verdict.error, verdict.allowed

    @property
    def share(self) -> float:
        """The worst error as a share of the allowed one."""
        return _share(self.error, self.allowed)

    @property
    def most_broken(self) -> int:
        """How often a promise that is kept as often as it says is broken at most, but for a chance of `CHANCE`."""
        if self.confidence == 1:
            return 0
        from scipy.stats import binom

        return int(binom.ppf(1 - CHANCE, self.judged, 1 - self.confidence))

    @property
    def is_kept(self) -> bool:
        """Of a promise with a probability: not broken more often than chance explains.

        Epochs with common events are one draw of the hash. Where all are, an error must also be twice what is allowed:
        a normal error is so once in ten thousand draws.
        """
        if self.broken <= self.most_broken:
            return True
        return self.confidence < 1 and len(self.draws) < _FEW_DRAWS and self.share <= 2


def _share(error: float, allowed: float) -> float:
    if not error:
        return 0.0
    return error / allowed if allowed else math.inf


@dataclass
class MonitorResult:
    """`epochs` holds for each audited epoch how many of its certain promises were broken, and what was damaged."""

    monitor: str
    method: str = ""
    epochs: dict[int, int] = field(default_factory=dict)
    observed: dict[tuple[str, float], Observed] = field(default_factory=dict)
    broken: list[Broken] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    partial: int = 0
    """Epochs whose answers were partial."""

    def take(self, stretch: Stretch, start: int, epoch: int, verdicts: Verdicts) -> None:
        """Counts what was judged of an epoch."""
        window = stretch.method.ask.window
        draw = epoch // window.length if window.length else window.period_of(epoch)
        bad = 0
        for verdict in verdicts:
            key = verdict.promise, verdict.confidence
            if key not in self.observed:
                self.observed[key] = Observed(*key)
            self.observed[key].add(verdict, draw)
            bad += not verdict.kept and verdict.confidence == 1
            if not verdict.kept and (verdict.confidence == 1 or len(self.broken) < _MOST_KEPT):
                self.broken.append(Broken(start, verdict))
        self.broken.sort(key=lambda one: one.verdict.confidence < 1)
        del self.broken[_MOST_KEPT:]
        self.epochs[start] = self.epochs.get(start, 0) + bad

    @property
    def kept(self) -> int:
        """Epochs without a broken promise or a damaged row."""
        damaged = {one.epoch_start for one in self.findings}
        return sum(1 for start, bad in self.epochs.items() if not bad and start not in damaged)

    @property
    def breaches(self) -> list[Observed]:
        return [one for one in self.observed.values() if not one.is_kept]


@dataclass
class Audit:
    """Of one source; `findings` are those of no single monitor."""

    source: str
    sample: float
    write: str
    monitors: dict[str, MonitorResult] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)
    """How many rows of each table, and events, were looked at."""
    stale: dict[str, str] = field(default_factory=dict)
    """By monitor, how a chain that rows have landed behind is replayed."""

    @property
    def all_findings(self) -> list[Finding]:
        return [*self.findings, *(one for each in self.monitors.values() for one in each.findings)]

    @property
    def broken(self) -> Iterable[MonitorResult]:
        return [one for one in self.monitors.values() if one.breaches]

    @property
    def is_sound(self) -> bool:
        return not self.all_findings and not self.broken

    def problems(self) -> Iterator[str]:
        """One line for each promise and each kind of damage."""
        for result in self.broken:
            for one in result.breaches:
                yield f"{result.monitor}: '{one.promise}' was broken {one.broken:,} times of {one.judged:,}"
        for finding in self.all_findings:
            yield f"{finding.monitor or self.source}: {finding.expectation} does not hold: {finding.observed}"
