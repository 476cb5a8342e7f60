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
from monitoring_lib.synopses._fm_errors import deviations
from monitoring_lib.synopses.exact_set import ExactSet
from monitoring_lib.synopses.fm import FM, bitmaps_for, error_of, likelihood_estimates

SEEDS = range(400)
MOST_FAILURES = 0.095


def sketched(items: object, bitmaps: int = 64, seed: int = 42) -> FM:
    sketch = FM.of_size(bitmaps, seed=seed)
    sketch.update(items)
    return sketch


def test_the_papers_estimator_says_434_for_an_empty_sketch_of_336_bitmaps_and_ours_says_0() -> None:
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


def test_1024_bitmaps_stay_within_a_tenth_from_20_items_on_in_399_of_400_runs() -> None:
    hashes = hash_integers(np.arange(50_000), 42)
    outside = 0
    for seed in SEEDS:
        sketch, seen, worst = FM.of_size(1024, seed=seed), 0, 0.0
        for items in (20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 50_000):
            sketch.update_hashes(hashes[seen:items])
            seen, worst = items, max(worst, abs(sketch.estimate() / items - 1))
        outside += worst > 0.1
    assert outside <= 1


def drawn(rng: np.random.Generator, runs: int, bitmaps: int, items: int) -> np.ndarray:
    """The bitmaps of so many sketches, drawn without any hash."""
    sketches = np.zeros((runs, bitmaps), np.uint64)
    levels = np.minimum(rng.geometric(0.5, (runs, items)) - 1, 31).astype(np.uint64)
    places = rng.integers(0, bitmaps, (runs, items))
    np.bitwise_or.at(sketches, (np.arange(runs)[:, None], places), np.uint64(1) << levels)
    return sketches


@pytest.mark.parametrize("bitmaps", [32, 128, 1024])
@pytest.mark.parametrize("items", [1, 2, 3, 5, 10, 20, 40, 100, 300, 1000, 4000])
def test_the_interval_covers_any_number_of_items_as_often_as_it_says(bitmaps: int, items: int) -> None:
    """1,000 sketches: 3.3 standard errors below the stated coverage are allowed, which 1 of 2,000 tests would need."""
    runs = 1000
    sketches = drawn(np.random.default_rng(items + bitmaps), runs, bitmaps, items)
    estimates = likelihood_estimates(sketches, 32)
    for confidence in (0.8, 0.95, 0.99):
        below, above = deviations(items, bitmaps, 32, confidence)
        covered = np.mean((items - estimates <= below) & (estimates - items <= above))
        assert covered >= confidence - 3.3 * math.sqrt(confidence * (1 - confidence) / runs)
    for bitmap_row, estimate in list(zip(sketches, estimates, strict=True))[:5]:
        below, above = deviations(items, bitmaps, 32, 0.95)
        covered_by = FM(bitmap_row).bound(0.95).holds(items)
        assert covered_by == (items - estimate <= below and estimate - items <= above)


@pytest.mark.parametrize(("bitmaps", "items"), [(1024, 20), (1024, 300), (1024, 1000), (256, 5000), (64, 200)])
def test_the_standard_error_is_that_of_drawn_sketches(bitmaps: int, items: int) -> None:
    """2,000 sketches place it within 5 % at three standard errors; few items add the skew of rare collisions."""
    estimates = likelihood_estimates(drawn(np.random.default_rng(9), 2000, bitmaps, items), 32)
    assert FM.of_size(bitmaps).standard_error(items) == pytest.approx(estimates.std() / items, rel=0.12)


def test_the_interval_is_narrow_for_few_items_and_never_below_the_bits() -> None:
    few = sketched(np.arange(5), bitmaps=1024)
    assert (few.bound(0.95).low, few.bound(0.95).high) == (5, 5)
    assert few.bound(0.95).guarantee == "probable"
    full = FM.of_size(4, levels=2)
    full.update(np.arange(1000))
    assert (full.bound().low, full.bound().high) == (8, math.inf)
    assert FM.of_size(64).standard_error() == 0.0
    assert full.standard_error(1e9) == math.inf or full.standard_error(1e9) > 1e6


def test_bits_are_listed_compared_by_level_and_set_elsewhere() -> None:
    sketch = sketched(np.arange(500))
    by_level = [set(np.flatnonzero(sketch.bits_at(level)).tolist()) for level in range(32)]
    listed = sketch.listed_bits()
    assert {(bit // 32, bit % 32) for bit in listed.tolist()} == {
        (bitmap, level) for level, bitmaps in enumerate(by_level) for bitmap in bitmaps
    }
    assert len(listed) == sketch.bits
    before = sketch.copy()
    sketch.update(np.arange(2000))
    news = sketch.bits_since(before).listed_bits()
    assert before.to_bytes() == sketched(np.arange(500)).to_bytes()
    assert before.set_bits(np.concatenate([news, news, listed])).tolist() == news.tolist()
    assert before.to_bytes() == sketch.to_bytes()
    assert before.set_bits(news).tolist() == []
    copied = FM.of_size(64)
    copied.set_bits(sketch.listed_bits())
    assert copied.estimate() == sketch.estimate()


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
        (lambda: FM.of_size(8).set_bits([256]), "bits"),
        (lambda: FM.of_size(8).set_bits([-1]), "bits"),
        (lambda: FM.of_size(8).set_bits([2**64 - 1]), "bits"),
        (lambda: FM.of_size(8).bits_at(32), "level"),
        (lambda: FM.of_size(8).update([1], [1, 2]), "weights"),
    ],
)
def test_a_wrong_parameter_is_named(make: object, named: str) -> None:
    with pytest.raises(ValueError, match=f"^{named}"):
        make()  # type: ignore[operator]
