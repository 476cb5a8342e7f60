"""Distinct items: sketches, samples and the exact set."""

from __future__ import annotations

from typing import Any

import numpy as np

from monitoring_lib.synopses.cpc import Cpc
from monitoring_lib.synopses.distinct_sample import DistinctSample
from monitoring_lib.synopses.dyadic_distinct import DyadicDistinct
from monitoring_lib.synopses.exact_set import ExactSet
from monitoring_lib.synopses.fm import FM
from monitoring_lib.synopses.fm_array import FmArray
from monitoring_lib.synopses.hll import Hll
from monitoring_lib.synopses.theta import Theta
from tests.laws.examples import Example

DOMAIN = 1 << 12


def numbers(rng: np.random.Generator) -> tuple[np.ndarray]:
    return (np.minimum(rng.zipf(1.2, 1500), DOMAIN - 1),)


def names(rng: np.random.Generator) -> tuple[list[str]]:
    return ([f"名{number}" for number in numbers(rng)[0]],)


def pairs(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return numbers(rng)[0], rng.integers(0, 50, 1500)


def named_pairs(rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    return names(rng)[0], rng.integers(0, 50, 1500)


def whole(batch: Any) -> Any:
    return lambda synopsis, rng: synopsis.update(*batch(rng))


def singly(batch: Any) -> Any:
    def feed(synopsis: Any, rng: np.random.Generator) -> None:
        columns = batch(rng)
        for at in range(len(columns[0])):
            synopsis.update(*(column[at : at + 1] for column in columns))

    return feed


def near(left: Any, right: Any) -> bool:
    """DataSketches' estimators differ between a stream and a union of streams: each within the other's
    bound."""
    return left.bound(0.997).holds(round(right.estimate())) and right.bound(0.997).holds(round(left.estimate()))


def example(name: str, batch: Any, empty: Any, *others: Any, **more: Any) -> Example:
    return Example(name=name, empty=empty, feed=whole(batch), feed_singly=singly(batch), others=others, **more)


EXAMPLES = [
    example("exact-set", numbers, ExactSet),
    example("exact-set of strings", names, ExactSet),
    example(
        "fm",
        numbers,
        lambda: FM.of_size(64),
        lambda: FM.of_size(65),
        lambda: FM.of_size(64, seed=7),
        lambda: FM.of_size(64, levels=24),
        largest=64 * 4 + 40,
    ),
    example("fm of strings", names, lambda: FM.for_error(0.1, 0.9)),
    example(
        "distinct-sample",
        numbers,
        lambda: DistinctSample(50),
        lambda: DistinctSample(51),
        lambda: DistinctSample(50, seed=7),
    ),
    example("distinct-sample of strings", names, lambda: DistinctSample(50)),
    example(
        "fm-array",
        named_pairs,
        lambda: FmArray.of_size(2, 8, 16),
        lambda: FmArray.of_size(3, 8, 16),
        lambda: FmArray.of_size(2, 9, 16),
        lambda: FmArray.of_size(2, 8, 17),
        lambda: FmArray.of_size(2, 8, 16, seed=7),
    ),
    example(
        "dyadic-distinct",
        pairs,
        lambda: DyadicDistinct.of_size(12, 64, 8),
        lambda: DyadicDistinct.of_size(13, 64, 8),
        lambda: DyadicDistinct.of_size(12, 32, 8),
    ),
    example("hll", numbers, lambda: Hll(8), lambda: Hll(9), lambda: Hll(8, seed=7), same=near),
    example("cpc", numbers, lambda: Cpc(8), lambda: Cpc(9), lambda: Cpc(8, seed=7), same=near),
    example("theta", numbers, lambda: Theta(8), lambda: Theta(9), lambda: Theta(8, seed=7), same=near),
]
