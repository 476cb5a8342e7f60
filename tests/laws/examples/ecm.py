"""ECM sketches over each kind of counter, and the dyadic ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from monitoring_lib.synopses.dyadic import DyadicEcm
from monitoring_lib.synopses.ecm import EcmSketch, EcmWaveSketch, RandomisedEcmSketch
from tests.laws.examples import Example
from tests.laws.examples.window_counters import LATENESS, SPANS, WINDOW, hour_of

ITEMS = np.arange(1, 256)


def batch(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Items, weights and ticks."""
    items = np.minimum(rng.zipf(1.3, 400), ITEMS[-1])
    return items, rng.integers(0, 4, 400), hour_of(rng) + np.sort(rng.integers(0, 900, 400))


def by_time(sketch: Any, rng: np.random.Generator) -> None:
    items, weights, ticks = batch(rng)
    sketch.update(items, weights, ticks=ticks)


def by_time_singly(sketch: Any, rng: np.random.Generator) -> None:
    for item, weight, tick in zip(*batch(rng), strict=True):
        for _ in range(weight):
            sketch.update([item], ticks=tick)


def late(sketch: Any, rng: np.random.Generator) -> None:
    items, weights, ticks = batch(rng)
    sketch.update(items, weights, ticks=ticks - rng.integers(0, LATENESS + 1, 400))


def by_count(sketch: Any, rng: np.random.Generator) -> None:
    items, weights, _ = batch(rng)
    sketch.update(items, weights)


def by_count_singly(sketch: Any, rng: np.random.Generator) -> None:
    items, weights, _ = batch(rng)
    for item in np.repeat(items, weights):
        sketch.update([item])


def same_clock(left: Any, right: Any) -> bool:
    return (left.window.newest, left.window.arrived) == (right.window.newest, right.window.arrived)


def agree(left: Any, right: Any) -> bool:
    """Whether one exact array of cells can lie within the bounds of both, for every range."""
    pairs = [(left.cells(span), right.cells(span)) for span in SPANS]
    return same_clock(left, right) and all((a.low <= b.high).all() and (b.low <= a.high).all() for a, b in pairs)


EXAMPLES = [
    Example(
        name="ecm by time",
        empty=lambda: EcmSketch.for_error(0.2, 0.8, WINDOW, seed=5),
        feed=by_time,
        feed_singly=by_time_singly,
        same=agree,
        others=(
            lambda: EcmSketch.for_error(0.2, 0.8, WINDOW, seed=6),
            lambda: EcmSketch.for_error(0.3, 0.8, WINDOW, seed=5),
            lambda: EcmSketch.for_error(0.2, 0.8, WINDOW, seed=5, use="inner-product"),
            lambda: EcmSketch.for_error(0.2, 0.8, WINDOW - 1, seed=5),
        ),
    ),
    Example(
        name="ecm of late events",
        empty=lambda: EcmSketch.for_error(0.2, 0.8, WINDOW, lateness=LATENESS),
        feed=late,
        same=agree,
    ),
    Example(
        name="ecm by count",
        empty=lambda: EcmSketch.for_error(0.2, 0.8, WINDOW, basis="count"),
        feed=by_count,
        feed_singly=by_count_singly,
        merges=False,
    ),
    Example(
        name="ecm of waves",
        empty=lambda: EcmWaveSketch.for_error(0.2, 0.8, WINDOW, 200),
        feed=by_time,
        feed_singly=by_time_singly,
        same=agree,
        others=(lambda: EcmWaveSketch.for_error(0.2, 0.8, WINDOW, 200, seed=1),),
    ),
    # Equal coins, as all that `empty` makes have, are refused by merges; sites have coins of their own.
    Example(
        name="ecm of randomised waves",
        empty=lambda: RandomisedEcmSketch.for_error(0.5, 0.5, WINDOW, coins=1),
        feed=by_time,
        feed_singly=by_time_singly,
        of_site=lambda site: RandomisedEcmSketch.for_error(0.5, 0.5, WINDOW, coins=site),
        merges=False,
    ),
    Example(
        name="dyadic ecm",
        empty=lambda: DyadicEcm.for_error(0.5, 0.5, 8, WINDOW),
        feed=by_time,
        feed_singly=by_time_singly,
        same=lambda a, b: all(agree(mine, theirs) for mine, theirs in zip(a.levels, b.levels, strict=True)),
        others=(lambda: DyadicEcm.for_error(0.5, 0.5, 9, WINDOW),),
        largest=2 << 20,
    ),
]
