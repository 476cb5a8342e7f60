"""Count-Min."""

from __future__ import annotations

from typing import Any

import numpy as np

from monitoring_lib.synopses.count_min import CountMin
from tests.laws.examples import Example


def batch(rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    return [f"/é/{number}" for number in rng.zipf(1.3, 400)], rng.integers(0, 9, 400)


def feed_singly(synopsis: Any, rng: np.random.Generator) -> None:
    for item, weight in zip(*batch(rng), strict=True):
        synopsis.update([item], [weight])


EXAMPLES = [
    Example(
        name="count-min",
        empty=lambda: CountMin.for_error(0.02, 0.95, seed=3),
        feed=lambda synopsis, rng: synopsis.update(*batch(rng)),
        feed_singly=feed_singly,
        others=(
            lambda: CountMin.for_error(0.03, 0.95, seed=3),
            lambda: CountMin.for_error(0.02, 0.99, seed=3),
            lambda: CountMin.for_error(0.02, 0.95, seed=4),
        ),
    )
]
