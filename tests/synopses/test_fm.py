"""Flajolet-Martin sketches.

The statistical tests draw each seed's sketch independently, with fixed seeds, so they either always pass or
always fail. With 400 seeds, a true failure rate of 5 % gives more than 9.5 % with a probability of 1e-4,
while a sketch whose error is half as large again as promised (a failure rate of 19 %) passes with a
probability of 1e-7.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from monitoring_lib.hashing import hash_integers
from monitoring_lib.synopses.exact_set import ExactSet
from monitoring_lib.synopses.fm import FM, bitmaps_for, error_of

SEEDS = range(400)
MOST_FAILURES = 0.095


def sketched(items: object, bitmaps: int = 64, seed: int = 42) -> FM:
    sketch = FM.of_size(bitmaps, seed=seed)
    sketch.update(items)
    return sketch


def test_the_texts_estimator_says_434_for_an_empty_sketch_of_336_bitmaps_and_ours_says_0() -> None:
    empty = FM.of_size(336)
    assert round(empty.estimate("pcsa")) == 434
    assert empty.estimate() == 0.0
    assert empty.bound().guarantee == "always"


def test_a_level_is_hit_with_half_the_probability_of_the_one_below() -> None:
    levels = np.zeros(32)
    for seed in range(3000):
        sketch = FM.of_size(1, seed=seed)
        sketch.update([1])
        levels[int(sketch.bitmaps[0]).bit_length() - 1] += 1
    for level in range(4):
        expected = 3000 * 0.5 ** (level + 1)
        assert abs(levels[level] - expected) < 4 * math.sqrt(expected)


def test_the_last_level_takes_all_the_rest() -> None:
    sketch = FM.of_size(4, levels=2)
    sketch.update(np.arange(1000))
    assert sketch.bitmaps.tolist() == [3, 3, 3, 3]
    assert sketch.estimate() == math.inf
    assert sketch.bound().high == math.inf


def test_the_estimate_solves_the_likelihood_equation() -> None:
    sketch = sketched(np.arange(700), bitmaps=50)
    x = sketch.estimate() / 50
    chances = [0.5 ** min(level + 1, 31) for level in range(32)]
    set_at = [int(np.count_nonzero(sketch.bitmaps >> np.uint64(level) & np.uint64(1))) for level in range(32)]
    left = sum(c * p / math.expm1(p * x) for c, p in zip(set_at, chances, strict=True))
    right = sum((50 - c) * p for c, p in zip(set_at, chances, strict=True))
    assert left == pytest.approx(right, rel=1e-9)


def test_the_estimate_rises_with_every_bit() -> None:
    rng = np.random.default_rng(3)
    for _ in range(30):
        sketch = sketched(rng.integers(0, 10**6, rng.integers(0, 3000)), bitmaps=8)
        unset = [
            (bitmap, level)
            for bitmap in range(8)
            for level in range(32)
            if not int(sketch.bitmaps[bitmap]) >> level & 1
        ]
        for at in rng.permutation(len(unset)):
            before = sketch.estimate()
            bitmap, level = unset[at]
            sketch.bitmaps[bitmap] |= np.uint64(1 << level)
            assert sketch.estimate() > before


@pytest.mark.parametrize(("bitmaps", "items"), [(64, 3), (64, 20), (64, 64), (64, 5000), (512, 15), (512, 20000)])
def test_the_error_is_within_the_promise_in_95_of_100_seeds(bitmaps: int, items: int) -> None:
    estimates = np.array([sketched(np.arange(items), bitmaps, seed).estimate() for seed in SEEDS])
    outside = np.abs(estimates - items) > error_of(bitmaps, 0.95) * items + 1
    assert outside.mean() <= MOST_FAILURES
    bounds = [sketched(np.arange(items), bitmaps, seed).bound(0.95) for seed in SEEDS[:100]]
    assert sum(not bound.holds(items) for bound in bounds) <= 15


def test_the_standard_error_is_065_by_the_root_of_the_bitmaps_and_the_bias_small() -> None:
    items, bitmaps = 10_000, 64
    estimates = np.array([sketched(np.arange(items), bitmaps, seed).estimate() for seed in SEEDS])
    spread = estimates.std() / items * math.sqrt(bitmaps)
    assert 0.55 < spread < 0.75  # 400 seeds place it within 7 % at two standard errors
    assert abs(estimates.mean() / items - 1) < 0.36 / bitmaps + 3 * 0.65 / math.sqrt(bitmaps * len(SEEDS))


def test_pcsa_errs_where_there_are_fewer_items_than_bitmaps_and_likelihood_does_not() -> None:
    sketch = sketched(np.arange(100), bitmaps=336)
    assert sketch.estimate() == pytest.approx(100, rel=0.1)
    assert sketch.estimate("pcsa") > 400


def test_1024_bitmaps_stay_within_a_tenth_from_20_items_on() -> None:
    for seed in range(100):
        sketch = FM.of_size(1024, seed=seed)
        for items in (20, 200, 2000, 20000):
            sketch.update(np.arange(items))
            assert sketch.estimate() == pytest.approx(items, rel=0.1)


def test_duplicates_and_order_change_nothing() -> None:
    rng = np.random.default_rng(4)
    items = np.arange(1000)
    once = sketched(items)
    again = sketched(rng.permutation(np.repeat(items, 3)))
    assert again.to_bytes() == once.to_bytes()


def test_agrees_with_the_exact_set_on_skewed_strings() -> None:
    names = [f"ключ/{number}" for number in np.random.default_rng(5).zipf(1.3, 20_000)]
    exact, sketch = ExactSet(), FM.for_error(0.05, 0.999)
    exact.update(names)
    sketch.update(names)
    assert sketch.bound(0.999).holds(exact.estimate())


def test_takes_hashes_that_were_made_elsewhere() -> None:
    items = np.arange(5000)
    sketch = FM.of_size(64)
    sketch.update_hashes(hash_integers(items, 42))
    assert sketch.to_bytes() == sketched(items).to_bytes()


def test_the_bits_since_an_earlier_sketch_bring_it_up_to_date() -> None:
    earlier = sketched(np.arange(500))
    later = sketched(np.arange(2000))
    news = later.bits_since(earlier)
    assert news.bits == later.bits - earlier.bits > 0
    assert earlier.merge(news).to_bytes() == later.to_bytes()
    with pytest.raises(ValueError, match="seed: 42 against 7"):
        later.bits_since(FM.of_size(64, seed=7))


def test_sizes_follow_from_error_and_confidence() -> None:
    for tolerance in (0.3, 0.1, 0.02):
        bitmaps = bitmaps_for(tolerance, 0.9)
        assert error_of(bitmaps, 0.9) <= tolerance < error_of(bitmaps - 1, 0.9)
    assert len(FM.for_error(0.05, 0.95).bitmaps) == 664


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: FM.of_size(0), "bitmaps"),
        (lambda: FM.of_size(8, levels=33), "levels"),
        (lambda: FM(np.full(8, 1 << 20, np.uint64), levels=16), "bitmaps"),
        (lambda: FM.for_error(1.5, 0.9), "tolerance"),
        (lambda: FM.for_error(0.1, 1.0), "confidence"),
        (lambda: sketched([1]).estimate("mean"), "estimator"),
        (lambda: FM.of_size(8).update([1], [-1]), "weights"),
        (lambda: FM.of_size(8).update([1], [1, 2]), "weights"),
    ],
)
def test_a_wrong_parameter_is_named(make: object, named: str) -> None:
    with pytest.raises(ValueError, match=f"^{named}"):
        make()  # type: ignore[operator]
