"""Counters of frequent items."""

from __future__ import annotations

from typing import Any

import numpy as np

from monitoring_lib.synopses.lossy_counting import LossyCounting
from monitoring_lib.synopses.misra_gries import MisraGries
from monitoring_lib.synopses.space_saving import SpaceSaving
from tests.laws.examples import Example

ITEMS = range(1, 300)


def numbers(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return np.minimum(rng.zipf(1.3, 1000), ITEMS[-1]), rng.integers(0, 5, 1000)


def names(rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    items, weights = numbers(rng)
    return [str(item) for item in items], weights


def whole(batch: Any) -> Any:
    return lambda synopsis, rng: synopsis.update(*batch(rng))


def singly(batch: Any) -> Any:
    def feed(synopsis: Any, rng: np.random.Generator) -> None:
        for item, weight in zip(*batch(rng), strict=True):
            synopsis.update([item], [weight])

    return feed


def overlapping(name: Any) -> Any:
    """Two synopses agree if the exact count can be the same: their bounds overlap for every item."""

    def same(left: Any, right: Any) -> bool:
        bounds = [(left.bound(name(item)), right.bound(name(item))) for item in ITEMS]
        return left.total == right.total and all(a.low <= b.high and b.low <= a.high for a, b in bounds)

    return same


EXAMPLES = [
    Example(
        name="lossy-counting",
        empty=lambda: LossyCounting(tolerance=0.02),
        feed=whole(numbers),
        others=(lambda: LossyCounting(tolerance=0.03),),
        merge_equals_whole=False,
    ),
    Example(
        name="lossy-counting by bounds",
        empty=lambda: LossyCounting(tolerance=0.02),
        feed=whole(names),
        feed_singly=singly(names),
        same=overlapping(str),
    ),
    Example(
        name="misra-gries",
        empty=lambda: MisraGries(capacity=20),
        feed=whole(numbers),
        feed_singly=singly(numbers),
        others=(lambda: MisraGries(capacity=21),),
        same=overlapping(int),
        largest=400,
    ),
    Example(
        name="misra-gries of strings",
        empty=lambda: MisraGries(capacity=20),
        feed=whole(names),
        same=overlapping(str),
    ),
    Example(
        name="space-saving",
        empty=lambda: SpaceSaving(6),
        feed=whole(names),
        feed_singly=singly(names),
        others=(lambda: SpaceSaving(7),),
        same=overlapping(str),
    ),
]
