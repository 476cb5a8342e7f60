"""Count-Min, against exact sums."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from monitoring_lib.hashing import SPARK_SEED, hash_items
from monitoring_lib.synopses.count_min import CountMin
from monitoring_lib.synopses.counts import Counts


def zipf(seed: int, events: int = 20_000) -> np.ndarray:
    return np.minimum(np.random.default_rng(seed).zipf(1.2, events), 5000)


def test_the_papers_size_is_the_smallest_that_keeps_error_and_confidence() -> None:
    """Section 3 of the paper: ceil(ln 1 / delta) rows of ceil(e / epsilon) columns."""
    sketch = CountMin.for_error(0.01, 0.99)
    assert sketch.table.shape == (5, 272)
    assert sketch.rows.error <= 0.01
    assert sketch.rows.confidence >= 0.99


def test_estimates_are_never_too_small() -> None:
    items, weights = zipf(1), np.random.default_rng(2).integers(0, 100, 20_000)
    sketch = CountMin.for_error(0.05, 0.9)
    sketch.update(items, weights)
    truth = np.bincount(items, weights, minlength=5001).astype(int)
    assert (sketch.estimates(np.arange(5001)) >= truth).all()
    assert sketch.total == weights.sum()


def test_the_error_holds_with_the_promised_probability() -> None:
    """400 seeds, one item each that does not occur, among equal ones: as bad as collisions get. A promise of 0.63; more
    than 200 misses have a probability below 1e-6 if it is kept, and a promise of 0.4 would be seen with 0.99."""
    runs, misses = 400, 0
    assert binom.sf(200, runs, np.exp(-1)) < 1e-6
    assert binom.sf(200, runs, 0.6) > 0.99
    items = np.arange(1, 400)
    for seed in range(runs):
        sketch = CountMin.for_error(0.02, 0.6, seed=seed)
        assert sketch.rows.depth == 1
        sketch.update(items)
        misses += not sketch.bound(0).holds(0)
    assert misses <= 200


def test_the_exact_sum_lies_within_the_bound_of_nearly_every_item() -> None:
    items = zipf(3)
    sketch = CountMin.for_error(0.01, 0.999)
    sketch.update(items)
    truth = np.bincount(items, minlength=5001)
    low, high = sketch.bounds(np.arange(5001))
    assert (truth <= high).all()
    assert (low > truth).mean() <= 0.001
    bound = sketch.bound(1)
    assert (bound.low, bound.high) == (low[1], high[1])
    assert bound.parts["sketch"] == bound.high - bound.low


def test_inner_products_and_self_joins_are_never_too_small_and_within_their_bound() -> None:
    left, right = zipf(4), zipf(5)
    sketches = [CountMin.for_error(0.01, 0.999) for _ in range(2)]
    for sketch, items in zip(sketches, (left, right), strict=True):
        sketch.update(items)
    counts = [np.bincount(items, minlength=5001) for items in (left, right)]
    product, square = int(counts[0] @ counts[1]), int(counts[0] @ counts[0])
    assert sketches[0].bound_inner_product(sketches[1]).holds(product)
    assert sketches[0].bound_self_join().holds(square)
    assert 0 <= sketches[0].self_join() - square <= 0.01 * len(left) ** 2
    with pytest.raises(ValueError, match="width: 272 against 136"):
        sketches[0].inner_product(CountMin.for_error(0.02, 0.999))


def test_names_may_be_any_unicode_in_any_container() -> None:
    names = ["", "é", "e\u0301", "日本", "a" * 10_000, "'; drop", "\x00", "/../"] * 3
    sketches = [CountMin.for_error(0.001, 0.999) for _ in range(4)]
    sketches[0].update(names)
    sketches[1].update(np.array(names, object))
    sketches[2].update(pa.array(names))
    sketches[3].update(pa.chunked_array([names[:5], names[5:]]))
    assert len({sketch.to_bytes() for sketch in sketches}) == 1
    exact = Counts.of(names)
    assert [sketches[0].estimate(name) for name, _ in exact] == [count for _, count in exact]


def test_whole_numbers_of_any_width_are_the_same_items() -> None:
    frames = set()
    for kind in (np.int16, np.int64, np.uint32):
        sketch = CountMin.for_error(0.1, 0.9)
        sketch.update(np.arange(50, dtype=kind))
        frames.add(sketch.to_bytes())
    sketch = CountMin.for_error(0.1, 0.9)
    sketch.update(list(range(50)))
    assert len(frames | {sketch.to_bytes()}) == 1


def test_items_hashed_by_spark_are_the_same_items() -> None:
    names = ["", "é", "日本", "a" * 100] * 5
    plain, hashed = CountMin.for_error(0.1, 0.9), CountMin.for_error(0.1, 0.9)
    plain.update(names)
    hashed.update_hashes(hash_items(names, SPARK_SEED).view(np.int64))
    assert plain.to_bytes() == hashed.to_bytes()
    for wrong in (names, np.arange(5, dtype=np.int32)):
        with pytest.raises(ValueError, match="hashes: a row of 64-bit hashes expected"):
            plain.update_hashes(wrong)


def test_rows_of_another_seed_are_another_function() -> None:
    sketches = [CountMin.for_error(0.1, 0.9, seed=seed) for seed in (1, 2)]
    for sketch in sketches:
        sketch.update(np.arange(1000))
    assert (sketches[0].table != sketches[1].table).any()
    assert all((row != sketches[0].table[0]).any() for row in sketches[0].table[1:])


def test_columns_are_even_and_pairs_collide_as_seldom_as_promised() -> None:
    """Strong universality: 2,000 seeds, one pair of neighbouring hashes; six standard deviations of slack."""
    together = 0
    for seed in range(2000):
        rows = CountMin.for_error(0.1, 0.5, seed=seed).rows
        columns = rows.columns(0, np.array([7, 7 + (1 << 32)], np.uint64))
        together += int(columns[0] == columns[1])
    mean = 2000 / 28
    assert abs(together - mean) <= 6 * np.sqrt(mean)


def test_wrong_parameters_are_named() -> None:
    for error in (0, 1, -1, float("nan")):
        with pytest.raises(ValueError, match="error: "):
            CountMin.for_error(error, 0.9)
    for confidence in (0, 1):
        with pytest.raises(ValueError, match="confidence: "):
            CountMin.for_error(0.1, confidence)
    with pytest.raises(ValueError, match="cells"):
        CountMin.for_error(1e-9, 0.9)
    sketch = CountMin.for_error(0.1, 0.9)
    with pytest.raises(ValueError, match="weights: -1 is negative"):
        sketch.update([1], [-1])
    with pytest.raises(ValueError, match="weights: the sum of all counts would be 2305843009213693952"):
        sketch.update([1], [2**61])
    with pytest.raises(ValueError, match="nulls"):
        sketch.update(["a", None])
    assert sketch.total == 0
