"""How kernels are timed: ours and its peers in turn, in one process, and the median of the rounds.

A machine is never quiet. Processor time leaves out what other processes take, interleaving the runs puts the
noise that remains on both sides of a ratio, and the median of the rounds' ratios forgets the rounds that were
disturbed. Everything measured here runs in one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from time import process_time_ns

import numpy as np
from numpy.typing import NDArray

PREFIX = 500_000
"""Events that a peer called once an item is given; its time is per event, so nothing is lost by it."""

Run = Callable[[], int]
"""Does the work once and says over how many units (events, mostly)."""
Prepare = Callable[["Workload"], Run]
"""Makes ready what is not to be timed, and returns what is."""


@dataclass(frozen=True)
class Workload:
    """Events whose items follow a Zipf law: item of rank i with probability proportional to i ** -skew."""

    events: int
    different: int = 1_000_000
    skew: float = 1.1
    ticks_of: int = 1000
    """Events in one tick."""
    seed: int = 7

    @cached_property
    def items(self) -> NDArray[np.int64]:
        rng = np.random.default_rng(self.seed)
        share = np.arange(1, self.different + 1, dtype=np.float64) ** -self.skew
        ranks = np.searchsorted(np.cumsum(share) / share.sum(), rng.random(self.events))
        return rng.permutation(self.different)[ranks]

    @cached_property
    def ticks(self) -> NDArray[np.int64]:
        return np.arange(self.events) // self.ticks_of

    @property
    def prefix(self) -> list[int]:
        """The first items as Python's numbers, for peers that take one a call."""
        return self.items[:PREFIX].tolist()


@dataclass(frozen=True)
class Peer:
    """What a kernel is compared with."""

    name: str
    prepare: Prepare


@dataclass(frozen=True)
class Case:
    """One kernel, its peers, and the ratio to the first of them that it must reach (floor) and should (aim)."""

    name: str
    prepare: Prepare
    peers: tuple[Peer, ...]
    floor: float | None = None
    aim: float | None = None
    lower_is_better: bool = False
    """The ratio is a cost (ours over the peer's time), not a speed (the peer's over ours)."""
    unit: str = "event"


@dataclass(frozen=True)
class Measured:
    """A case's result: nanoseconds a unit (medians), and the ratio to each peer (median of the rounds')."""

    case: Case
    nanoseconds: float
    of_peers: dict[str, float] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)

    @property
    def main_ratio(self) -> float | None:
        return self.ratios[self.case.peers[0].name] if self.case.peers else None

    @property
    def above_floor(self) -> bool | None:
        """Whether the floor is kept; None where there is none."""
        if self.case.floor is None or self.main_ratio is None:
            return None
        if self.case.lower_is_better:
            return self.main_ratio <= self.case.floor
        return self.main_ratio >= self.case.floor


def measure(case: Case, workload: Workload, rounds: int = 5) -> Measured:
    """Times a case and its peers in turn, once to warm up and `rounds` times to count."""
    runs: dict[str, Run] = {case.name: case.prepare(workload)}
    runs |= {peer.name: peer.prepare(workload) for peer in case.peers}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name, run in runs.items():
            took = _nanoseconds(run)
            if number:
                times[name].append(took)
    own = times[case.name]
    return Measured(
        case,
        median(own),
        {peer.name: median(times[peer.name]) for peer in case.peers},
        {peer.name: _ratio(own, times[peer.name], case.lower_is_better) for peer in case.peers},
    )


def _nanoseconds(run: Run) -> float:
    start = process_time_ns()
    units = run()
    return (process_time_ns() - start) / units


def _ratio(own: Sequence[float], other: Sequence[float], lower_is_better: bool) -> float:
    pairs = zip(own, other, strict=True)
    return median(a / b if lower_is_better else b / a for a, b in pairs)
