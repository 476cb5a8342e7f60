"""Exact sums by item."""

from __future__ import annotations

from typing import Any

import numpy as np

from monitoring_lib.synopses.counts import Counts
from tests.laws.examples import Example

NAMES = np.array([f"item {number} é" for number in range(60)])


def batch(rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    return NAMES[rng.integers(0, 60, 300)].tolist(), rng.integers(-5, 20, 300)


def feed_singly(synopsis: Any, rng: np.random.Generator) -> None:
    for item, weight in zip(*batch(rng), strict=True):
        synopsis.update([item], np.array([weight]))


EXAMPLES = [
    Example(
        name="counts",
        empty=Counts,
        feed=lambda synopsis, rng: synopsis.update(*batch(rng)),
        feed_singly=feed_singly,
    )
]
