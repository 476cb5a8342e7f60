"""Exact twins of the synopses over a window, and the plain form of an exponential histogram."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Events = tuple[np.ndarray, np.ndarray]
"""Weights and ticks, in the order of arrival."""


def exact(events: Events, cutoff: int) -> int:
    """The number of events after a cutoff."""
    weights, ticks = events
    return int(weights[ticks > cutoff].sum())


def assert_range_holds(counter: Any, seen: Events, now: int, span: int, worst: float) -> None:
    """Estimate and bound of a range against the exact number of events in it."""
    truth, estimate = exact(seen, now - span), counter.estimate(span, now)
    assert abs(estimate - truth) <= worst * truth
    assert counter.bound(span, now).holds(truth)
    assert counter.bound(span, now).holds(estimate)


def assert_last_arrivals_hold(counter: Any, error: float) -> None:
    """The same for ranges of a counter over the last 1,000 arrivals, each of which counts 0 or 1."""
    rng = np.random.default_rng(4)
    bits = (rng.random(3000) < rng.random(3000)).astype(np.int64)
    for batch in np.array_split(np.arange(len(bits)), 40):
        counter.update(bits[batch])
        for span in [1, 1000, *rng.integers(1, 1001, 10).tolist()]:
            truth = int(bits[: batch[-1] + 1][-span:].sum())
            assert abs(counter.estimate(span) - truth) <= error * truth
            assert counter.bound(span).holds(truth)


def streams(seed: int) -> dict[str, Events]:
    """Streams of many shapes: what is hard for a counter is in one of them."""
    rng = np.random.default_rng(seed)
    ones = np.ones(1500, np.int64)
    return {
        "one a tick": (ones, np.arange(1500)),
        "several a tick": (ones, np.sort(rng.integers(0, 300, 1500))),
        "all at one tick": (ones, np.full(1500, 7)),
        "bursts": (rng.integers(0, 2000, 60) * (rng.random(60) < 0.3), np.sort(rng.integers(0, 900, 60))),
        "long silences": (rng.integers(1, 9, 80), np.cumsum(rng.choice([0, 1, 5000], 80))),
        "ever faster": (ones, (1500 * np.sqrt(np.arange(1500) / 1500)).astype(np.int64)),
        "ever slower": (ones, (np.arange(1500) ** 2) // 1500),
        "doubling weights": (2 ** np.arange(30), np.arange(30)),
        "halving weights": (2 ** np.arange(30)[::-1], np.arange(30)),
        "before the epoch": (ones, np.sort(rng.integers(-4000, 10, 1500))),
    }


@dataclass
class PlainHistogram:
    """An exponential histogram as it is told, bucket by bucket, and as it is easily mistold."""

    most_ones: int
    few_ones: bool = False
    """Mistold: no more buckets of size 1 than of any other size."""
    halves_ones: bool = False
    """Mistold: a bucket of size 1 may count half."""
    takes_oldest_whole: bool = False
    """Mistold: the oldest bucket is inside whatever its start."""
    ends: list[deque[int]] = field(default_factory=lambda: [deque()])
    first: int | None = None

    def insert(self, tick: int) -> None:
        self.first = tick if self.first is None else self.first
        self.ends[0].appendleft(tick)
        power = 0
        while len(self.ends[power]) > self._most(power):
            self.ends[power].pop()
            end = self.ends[power].pop()
            power += 1
            if power == len(self.ends):
                self.ends.append(deque())
            self.ends[power].appendleft(end)

    def _most(self, power: int) -> int:
        return self.most_ones if power == 0 and not self.few_ones else -(-self.most_ones // 2) + 1

    def buckets(self) -> list[tuple[int, int, int]]:
        """Newest first: size, tick of the start, tick of the end."""
        ends = [(1 << power, end) for power, ticks in enumerate(self.ends) for end in ticks]
        starts = [end for _, end in ends[1:]] + [self.first or 0]
        return [(size, start, end) for (size, end), start in zip(ends, starts, strict=True)]

    def estimate(self, cutoff: int) -> float:
        total, buckets = 0.0, self.buckets()
        for number, (size, start, end) in enumerate(buckets):
            if end <= cutoff:
                break
            reaches_out = start <= cutoff and (size > 1 or self.halves_ones)
            if self.takes_oldest_whole and number == len(buckets) - 1:
                reaches_out = False
            total += size / 2 if reaches_out else size
        return total
