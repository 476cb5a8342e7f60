"""Distinct samples.

The statistical tests run over fixed seeds. With 300 seeds, a true failure rate of 5 % gives more than 10 %
with a probability below 1e-3, and one of 19 % (errors half as large again as promised) at most 10 % with less
than 1e-4.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from monitoring_lib.hashing import SPARK_SEED, hash_integers
from monitoring_lib.synopses.distinct_sample import DistinctSample
from monitoring_lib.synopses.hashes import seeded

SEEDS = range(300)
MOST_FAILURES = 0.10


def sampled(items: object, capacity: int = 100, seed: int = 42, weights: object = None) -> DistinctSample:
    sample = DistinctSample(capacity, seed)
    sample.update(items, weights)
    return sample


def by_hand(items: list[int], capacity: int, seed: int) -> tuple[int, dict[int, int]]:
    """The paper's algorithm, one item at a time: raise the level while the sample is too large, and prune."""
    level, kept = 0, Counter[int]()
    zeros = {item: (h & -h).bit_length() - 1 for item, h in hashes_of(items, seed).items()}
    for item in items:
        if zeros[item] >= level:
            kept[item] += 1
        while len(kept) > capacity:
            level += 1
            kept = Counter({item: count for item, count in kept.items() if zeros[item] >= level})
    return level, dict(kept)


def hashes_of(items: list[int], seed: int) -> dict[int, int]:
    return dict(zip(items, seeded(hash_integers(np.array(items), SPARK_SEED), seed).tolist(), strict=True))


def test_is_the_texts_algorithm_one_item_at_a_time() -> None:
    rng = np.random.default_rng(1)
    for seed in range(10):
        items = np.minimum(rng.zipf(1.2, 3000), 2000)
        sample = sampled(items, 25, seed)
        assert (sample.level, dict(sample)) == by_hand(items.tolist(), 25, seed)


def test_a_sample_that_never_overflowed_is_exact() -> None:
    sample = sampled(["a", "b", "a", "c"])
    assert (sample.level, sample.estimate(), sample.estimate_unique()) == (0, 3.0, 2.0)
    assert sample.bound().guarantee == "always"
    assert sample.estimate_quantile(0.5) == 1
    assert sample.estimate_quantile(1.0) == 2


def test_counts_of_sampled_items_are_exact() -> None:
    rng = np.random.default_rng(2)
    items, weights = rng.integers(0, 5000, 20_000), rng.integers(0, 4, 20_000)
    sample = sampled(items, weights=weights)
    exact = np.bincount(items, weights=weights)
    assert sample.level > 0
    for item, count in sample:
        assert count == exact[item]


@pytest.mark.parametrize("items", [2000, 30_000])
def test_the_number_of_distinct_items_is_within_its_bound(items: int) -> None:
    failures = sum(not sampled(np.arange(items), 100, seed).bound(0.95).holds(items) for seed in SEEDS)
    assert failures <= MOST_FAILURES * len(SEEDS)


def test_unique_items_predicates_and_quantiles_are_within_their_bounds() -> None:
    """Half of the items occur once, a quarter twice, and so on; even numbers satisfy the predicate."""
    items = np.arange(8000)
    weights = np.random.default_rng(3).geometric(0.5, 8000)
    unique, median = np.count_nonzero(weights == 1), np.sort(weights)[(8000 * 3) // 4 - 1]
    failures = np.zeros(3)
    for seed in SEEDS:
        sample = sampled(items, 200, seed, weights)
        failures += [
            not sample.bound_unique(0.95).holds(unique),
            not sample.bound_where(lambda item: item % 2 == 0, 0.95).holds(4000),
            not sample.bound_quantile(0.75, 0.95).holds(median),
        ]
    assert np.all(failures <= MOST_FAILURES * len(SEEDS))


def test_a_size_for_an_error_keeps_it() -> None:
    failures = 0
    for seed in range(100):
        sample = DistinctSample.for_error(0.2, 0.9, seed)
        sample.update(np.arange(5000))
        failures += abs(sample.estimate() - 5000) > 0.2 * 5000
    assert failures <= 20


def test_estimates_scale_the_sample() -> None:
    sample = sampled([f"n{number}" for number in range(3000)])
    assert sample.estimate() == len(sample) << sample.level
    assert sample.estimate_where(lambda name: name.endswith("7")) <= sample.estimate()
    assert sample.estimate_where(lambda name: True) == sample.estimate() == sample.estimate_unique()


def test_never_holds_more_than_its_capacity_even_if_all_come_at_once() -> None:
    sample = DistinctSample(20)
    for start in range(0, 50_000, 10_000):
        sample.update(np.arange(start, start + 10_000))
        assert len(sample) <= 20


def test_a_site_that_is_told_a_higher_level_drops_what_is_below() -> None:
    sample = sampled(np.arange(1000), 200)
    other = sampled(np.arange(100_000), 200)
    sample.raise_level(other.level)
    assert sample.level == other.level
    assert set(dict(sample)) == {item for item in dict(other) if item < 1000}
    before = sample.to_bytes()
    sample.raise_level(1)
    assert sample.to_bytes() == before


def test_an_empty_sample_gives_no_quantile() -> None:
    with pytest.raises(ValueError, match="empty sample"):
        DistinctSample(20).estimate_quantile(0.5)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: DistinctSample(19), "capacity"),
        (lambda: DistinctSample(20, level=64), "level"),
        (lambda: DistinctSample.for_error(0.1, 0.0), "confidence"),
        (lambda: sampled([1]).estimate_quantile(1.1), "share"),
        (lambda: sampled([1]).update(["a"]), "items"),
        (lambda: sampled([1], weights=[-1]), "weights"),
        (lambda: DistinctSample(20, 42, 1, np.array([1], np.uint64)), "hashes"),
    ],
)
def test_a_wrong_parameter_is_named(make: object, named: str) -> None:
    with pytest.raises(ValueError, match=f"^{named}"):
        make()  # type: ignore[operator]
