"""Counters over a window, one of each kind: by time (some of it late) and by count."""

from __future__ import annotations

from typing import Any

import numpy as np

from monitoring_lib.synopses.deterministic_wave import DeterministicWave
from monitoring_lib.synopses.exponential_histogram import ExponentialHistogram
from monitoring_lib.synopses.randomised_wave import RandomisedWave
from tests.laws.examples import Example

WINDOW = 3000
SPANS = (1, 20, 150, 700, 1500, WINDOW)
LATENESS = 40


def hour_of(rng: np.random.Generator) -> int:
    """When a batch begins: the laws feed batches in the order of their seeds, and so must time pass."""
    entropy: Any = rng.bit_generator.seed_seq.entropy  # type: ignore[attr-defined]
    return 1000 * int(entropy)


def in_order(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Weights and ticks of one batch."""
    return rng.integers(0, 6, 300), hour_of(rng) + np.sort(rng.integers(0, 900, 300))


def out_of_order(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    weights, ticks = in_order(rng)
    return weights, ticks - rng.integers(0, LATENESS + 1, 300)


def by_time(batch: Any) -> Any:
    def feed(counter: Any, rng: np.random.Generator) -> None:
        weights, ticks = batch(rng)
        counter.update(weights, ticks=ticks)

    return feed


def by_time_singly(batch: Any) -> Any:
    def feed(counter: Any, rng: np.random.Generator) -> None:
        for weight, tick in zip(*batch(rng), strict=True):
            for _ in range(weight):
                counter.update(ticks=[tick])

    return feed


def by_count(counter: Any, rng: np.random.Generator) -> None:
    counter.update(rng.integers(0, 6, 300))


def by_count_singly(counter: Any, rng: np.random.Generator) -> None:
    for weight in rng.integers(0, 6, 300):
        for _ in range(max(1, weight)):
            counter.update([min(1, weight)])


def agree(left: Any, right: Any) -> bool:
    """Whether one exact number can lie within both bounds, for every range, and nothing else differs."""
    pairs = [(left.bound(span), right.bound(span)) for span in SPANS]
    return (left.window.newest, left.window.arrived) == (right.window.newest, right.window.arrived) and all(
        a.low <= b.high and b.low <= a.high for a, b in pairs
    )


EXAMPLES = [
    Example(
        name="exponential histogram by time",
        empty=lambda: ExponentialHistogram.for_error(0.1, WINDOW),
        feed=by_time(in_order),
        feed_singly=by_time_singly(in_order),
        same=agree,
        others=(
            lambda: ExponentialHistogram.for_error(0.2, WINDOW),
            lambda: ExponentialHistogram.for_error(0.1, WINDOW + 1),
            lambda: ExponentialHistogram.for_error(0.1, WINDOW, lateness=1),
            lambda: ExponentialHistogram.for_error(0.1, WINDOW, basis="count"),
        ),
    ),
    Example(
        name="exponential histogram of late events",
        empty=lambda: ExponentialHistogram.for_error(0.1, WINDOW, lateness=LATENESS),
        feed=by_time(out_of_order),
        feed_singly=by_time_singly(out_of_order),
        same=agree,
    ),
    Example(
        name="exponential histogram by count",
        empty=lambda: ExponentialHistogram.for_error(0.1, WINDOW, basis="count"),
        feed=by_count,
        feed_singly=by_count_singly,
        merges=False,
    ),
    Example(
        name="deterministic wave by time",
        empty=lambda: DeterministicWave.for_error(0.1, WINDOW, 500),
        feed=by_time(in_order),
        feed_singly=by_time_singly(in_order),
        same=agree,
        others=(lambda: DeterministicWave.for_error(0.02, WINDOW, 500),),
    ),
    Example(
        name="deterministic wave by count",
        empty=lambda: DeterministicWave.for_error(0.1, WINDOW, WINDOW, basis="count"),
        feed=by_count,
        feed_singly=by_count_singly,
        merges=False,
    ),
    # Equal coins, as all that `empty` makes have, are refused by merges; sites have coins of their own.
    Example(
        name="randomised wave by time",
        empty=lambda: RandomisedWave.for_error(0.4, 0.8, WINDOW, coins=1),
        feed=by_time(in_order),
        feed_singly=by_time_singly(in_order),
        of_site=lambda site: RandomisedWave.for_error(0.4, 0.8, WINDOW, coins=site),
        merges=False,
    ),
    Example(
        name="randomised wave by count",
        empty=lambda: RandomisedWave.for_error(0.4, 0.8, WINDOW, coins=1, basis="count"),
        feed=by_count,
        feed_singly=by_count_singly,
        merges=False,
    ),
]
