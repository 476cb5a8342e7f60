"""Distinct quantiles over dyadic ranges.

The statistical test: with 100 seeds, a true failure rate of 10 % gives more than 22 failures with a
probability of 1e-4, and one of 35 % at most 22 with less than 1 %. Seen: a standard error of 0.09 where the
bound allows 0.3.
"""

from __future__ import annotations

import numpy as np
import pytest

from monitoring_lib.synopses.dyadic_distinct import DyadicDistinct


def test_the_median_is_of_distinct_pairs_not_of_events() -> None:
    synopsis = DyadicDistinct.of_size(10, 1024, 512)
    items = np.concatenate([np.arange(1000), np.zeros(50_000, np.int64)])
    synopsis.update(items)
    assert synopsis.estimate_quantile(0.5) == pytest.approx(500, abs=50)
    assert synopsis.total() == pytest.approx(1000, rel=0.05)
    assert synopsis.estimate_quantile(0.0) == 0


def test_ranks_sum_the_ranges_below() -> None:
    synopsis = DyadicDistinct.of_size(8, 256, 256)
    synopsis.update(np.repeat(np.arange(256), 40), np.tile(np.arange(40), 256))
    for value in (0, 1, 6, 127, 128, 200, 254, 255):
        assert synopsis.estimate_rank(value) == pytest.approx(40 * (value + 1), rel=0.12)


def test_ranks_are_within_their_bound_in_90_of_100_seeds() -> None:
    rng = np.random.default_rng(1)
    items, partners = np.minimum(rng.zipf(1.3, 5000), 1023), rng.integers(0, 300, 5000)
    different = np.unique(np.stack([items, partners]), axis=1)[0]
    failures = dict.fromkeys((3, 100, 700), 0)
    for seed in range(100):
        synopsis = DyadicDistinct.for_error(10, 0.4, 0.9, seed)
        synopsis.update(items, partners)
        for value in failures:
            rank = np.count_nonzero(different <= value)
            failures[value] += not synopsis.bound_rank(value, 0.9).holds(rank)
    assert max(failures.values()) <= 22


def test_the_quantile_is_within_its_bound() -> None:
    items = np.arange(4096)
    for seed in range(20):
        synopsis = DyadicDistinct.of_size(12, 512, 64, seed=seed)
        synopsis.update(items)
        bound = synopsis.bound_quantile(0.5, 0.9)
        assert bound.holds(2047)
        assert bound.high < 4095


def test_an_item_of_weight_0_did_not_occur() -> None:
    synopsis = DyadicDistinct.of_size(4, 16, 64)
    synopsis.update([1, 2, 3], weights=[1, 0, 0])
    assert synopsis.total() == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: DyadicDistinct([]), "arrays"),
        (lambda: DyadicDistinct.of_size(4, 4, 4).update([16]), "items: 16 to 16 is not within 0 to 15"),
        (lambda: DyadicDistinct.of_size(4, 4, 4).update(["1"]), "items"),
        (lambda: DyadicDistinct.of_size(4, 4, 4).estimate_quantile(-0.1), "share"),
        (lambda: DyadicDistinct.for_error(4, 0, 0.9), "tolerance"),
    ],
)
def test_a_wrong_parameter_is_named(make: object, named: str) -> None:
    with pytest.raises(ValueError, match=f"^{named}"):
        make()  # type: ignore[operator]
