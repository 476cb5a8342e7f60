"""ECM sketches, against exact counts of every item and range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from monitoring_lib.hashing import SPARK_SEED, hash_items
from monitoring_lib.synopses.ecm import EcmSketch, EcmWaveSketch, RandomisedEcmSketch

WINDOW = 1000
MAKERS = {
    "histograms": lambda error, confidence, **more: EcmSketch.for_error(error, confidence, WINDOW, **more),
    "waves": lambda error, confidence, **more: EcmWaveSketch.for_error(error, confidence, WINDOW, 2000, **more),
    "randomised": lambda error, confidence, **more: RandomisedEcmSketch.for_error(
        error, confidence, WINDOW, more.pop("coins", 1), **more
    ),
}
every = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
deterministic = pytest.mark.parametrize("make", list(MAKERS.values())[:2], ids=list(MAKERS)[:2])
ITEMS = np.arange(1, 501)


def stream(seed: int, events: int = 12_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Items, weights and ticks over twice the window."""
    rng = np.random.default_rng(seed)
    items = np.minimum(rng.zipf(1.3, events), ITEMS[-1])
    return items, rng.integers(0, 4, events), np.sort(rng.integers(0, 2 * WINDOW, events))


def counts(events: tuple[np.ndarray, np.ndarray, np.ndarray], cutoff: int) -> np.ndarray:
    items, weights, ticks = events
    inside = ticks > cutoff
    return np.bincount(items[inside], weights[inside], minlength=ITEMS[-1] + 1)[1:]


def fed(make: Any, events: tuple[np.ndarray, np.ndarray, np.ndarray], *args: float, **more: Any) -> Any:
    sketch = make(*args, **more)
    items, weights, ticks = events
    for batch in np.array_split(np.arange(len(items)), 3):
        sketch.update(items[batch], weights[batch], ticks=ticks[batch])
    return sketch


def test_the_papers_sizes() -> None:
    """Theorems 1 to 3: e (1 + error) / error columns; counters of error, of sqrt(1 + error) - 1; doubt shared."""
    point, product = (EcmSketch.for_error(0.1, 0.9, 10, use=use) for use in ("point", "inner-product"))
    assert (point.rows.depth, point.rows.width) == (product.rows.depth, product.rows.width) == (3, 30)
    assert (point.counters.most_ones, product.counters.most_ones) == (10, 21)
    assert point.point_error <= 0.1
    assert product.inner_product_error <= 0.1
    randomised = RandomisedEcmSketch.for_error(0.1, 0.9, 10, 1)
    assert (randomised.rows.depth, randomised.rows.width) == (3, 30)
    assert randomised.confidence >= 0.9


@every
def test_the_exact_count_lies_within_the_bound_for_any_range(make: Any) -> None:
    events = stream(1)
    sketch = fed(make, events, 0.1 if make is not MAKERS["randomised"] else 0.3, 0.9999)
    newest = sketch.window.newest
    for span, now in ((1, newest), (37, newest), (400, newest), (WINDOW, newest), (WINDOW, newest + 500)):
        truth = counts(events, now - span)
        low, high = sketch.bounds(ITEMS, span, now)
        assert (low <= truth).all()
        assert (truth <= high).all()
        estimates = sketch.estimates(ITEMS, span, now)
        assert (abs(estimates - truth) <= sketch.point_error * truth.sum()).all()
        bound = sketch.bound(3, span, now)
        assert (bound.low, bound.high) == (low[2], high[2])
        assert sum(bound.parts.values()) == pytest.approx(bound.high - bound.low)
        assert sketch.estimate(3, span, now) == estimates[2]
        assert sketch.arrivals(span, now).holds(truth.sum())


@every
def test_the_point_error_holds_with_the_promised_probability(make: Any) -> None:
    """300 seeds, one item each that does not occur, among equal ones: as bad as collisions get. Rows that keep 0.63
    alone: more than 155 misses have a probability below 1e-5 if that holds, and 0.38 would be seen with 0.99."""
    runs, misses = 300, 0
    assert binom.sf(155, runs, np.exp(-1)) < 1e-5
    assert binom.sf(155, runs, 0.62) > 0.99
    items = np.arange(1, 200)
    for seed in range(runs):
        sketch = make(0.2, 0.6 if make is not MAKERS["randomised"] else 0.3, seed=seed)
        assert sketch.rows.depth <= 2
        sketch.update(items, ticks=np.arange(1, 200))
        misses += abs(sketch.estimate(0, 150)) > sketch.point_error * 150
        assert sketch.bound(0, 150).high >= 0
    assert misses <= 155


@deterministic
def test_estimates_are_never_below_the_counters_error(make: Any) -> None:
    for seed in range(10):
        events = stream(seed, 3000)
        sketch = fed(make, events, 0.3, 0.5, seed=seed)
        for span in (5, 200, WINDOW):
            truth = counts(events, sketch.window.newest - span)
            assert (sketch.estimates(ITEMS, span) >= (1 - sketch.counters.worst_error) * truth).all()
            assert (sketch.bounds(ITEMS, span)[1] >= truth).all()


@deterministic
def test_inner_products_and_self_joins_lie_within_their_bounds(make: Any) -> None:
    left, right = stream(2), stream(3)
    mine, theirs = (fed(make, events, 0.05, 0.999, use="inner-product") for events in (left, right))
    newest = max(mine.window.newest, theirs.window.newest)
    for span in (10, 300, WINDOW):
        a, b = counts(left, newest - span), counts(right, newest - span)
        assert mine.bound_inner_product(theirs, span).holds(a @ b)
        assert abs(mine.inner_product(theirs, span) - a @ b) <= mine.inner_product_error * a.sum() * b.sum()
        own = counts(left, mine.window.newest - span)
        assert mine.bound_self_join(span).holds(own @ own)
        assert abs(mine.self_join(span) - own @ own) <= mine.inner_product_error * own.sum() ** 2
    with pytest.raises(ValueError, match="other: sketches of unlike making have no inner product: seed: 0 against 9"):
        mine.inner_product(make(0.05, 0.999, use="inner-product", seed=9))


def test_the_array_of_a_range_is_what_products_and_monitors_work_with() -> None:
    sketch = fed(MAKERS["histograms"], stream(4), 0.1, 0.9)
    cells = sketch.cells(300)
    assert cells.estimate.shape == (3, 30)
    assert float((cells.estimate**2).sum(axis=1).min()) == sketch.self_join(300)
    assert (cells.low <= cells.estimate).all()
    assert (cells.estimate <= cells.high).all()


@every
def test_the_last_arrivals_are_counted_by_item(make: Any) -> None:
    rng = np.random.default_rng(5)
    items = np.minimum(rng.zipf(1.3, 6000), ITEMS[-1])
    sketch = make(0.1 if make is not MAKERS["randomised"] else 0.3, 0.9999, basis="count")
    for batch in np.array_split(items, 7):
        sketch.update(batch)
    for span in (1, 90, WINDOW):
        truth = np.bincount(items[-span:], minlength=ITEMS[-1] + 1)[1:]
        low, high = sketch.bounds(ITEMS, span)
        assert (low <= truth).all()
        assert (truth <= high).all()


def bulk_and_singles(make: Any, ticks: np.ndarray, basis: str) -> tuple[Any, Any]:
    items, weights, _ = stream(6, len(ticks))
    bulk, single = make(0.3, 0.7, basis=basis), make(0.3, 0.7, basis=basis)
    bulk.update(items, weights, ticks=ticks if basis == "time" else None)
    for item, tick in zip(np.repeat(items, weights), np.repeat(ticks, weights), strict=True):
        single.update([item], ticks=tick if basis == "time" else None)
    return bulk, single


@every
def test_a_bulk_is_its_single_events_to_the_byte(make: Any) -> None:
    for basis in ("time", "count"):
        bulk, single = bulk_and_singles(make, np.arange(300), basis)
        assert bulk.to_bytes() == single.to_bytes()


@every
def test_a_bulk_that_outlasts_the_window_answers_as_its_single_events(make: Any) -> None:
    """What has left the window may be forgotten a little sooner or later; no range reaches it."""
    for ticks in (np.arange(0, 3 * WINDOW, 5), np.sqrt(np.arange(600) * 15_000).astype(int)):
        bulk, single = bulk_and_singles(make, ticks, "time")
        for span in (1, 17, 300, WINDOW):
            one, other = bulk.cells(span), single.cells(span)
            assert all(np.array_equal(*pair) for pair in zip(one, other, strict=True))


@every
def test_a_bulk_of_any_size_is_counted_at_once(make: Any) -> None:
    sketch = make(0.1, 0.99)
    sketch.update(["a", "b", "a"], [10**14, 5, 7], ticks=[1, 1, 2])
    assert sketch.bound("a", 2).holds(10**14 + 7)
    assert sketch.estimate("a", 1) == 7


@every
def test_batches_larger_than_a_chunk_are_taken_in_order(make: Any) -> None:
    rng = np.random.default_rng(7)
    items, ticks = rng.integers(1, 50, 100_000), np.arange(100_000) // 50
    sketch = make(0.2, 0.99)
    sketch.update(items, ticks=ticks)
    truth = np.bincount(items[ticks > ticks[-1] - 300], minlength=50)[1:]
    low, high = sketch.bounds(np.arange(1, 50), 300)
    assert ((low <= truth) & (truth <= high)).all()


def test_names_may_be_any_unicode() -> None:
    names = ["", "é", "日本", "a" * 10_000, "\x00", "/../"]
    sketch = EcmSketch.for_error(0.01, 0.999, 10)
    sketch.update(names * 3, ticks=np.repeat([1, 2, 3], len(names)))
    assert sketch.estimates(names, 2).tolist() == [2] * len(names)
    before = sketch.to_bytes()
    with pytest.raises(ValueError, match="1 nulls"):
        sketch.update(["a", None], ticks=[4, 4])
    assert sketch.to_bytes() == before


def test_items_hashed_by_spark_are_the_same_items() -> None:
    items, weights, ticks = stream(8, 500)
    plain, hashed = (EcmSketch.for_error(0.1, 0.9, WINDOW) for _ in range(2))
    plain.update(items, weights, ticks=ticks)
    hashed.update_hashes(hash_items(items, SPARK_SEED), weights, ticks=ticks)
    assert plain.to_bytes() == hashed.to_bytes()


def test_randomised_waves_promise_nothing_for_inner_products() -> None:
    sketch = MAKERS["randomised"](0.3, 0.5)
    for ask in (sketch.self_join, sketch.bound_self_join):
        with pytest.raises(ValueError, match="randomised waves promise nothing for inner products"):
            ask()


def test_wrong_parameters_are_named() -> None:
    with pytest.raises(ValueError, match="use: 'sum'"):
        EcmSketch.for_error(0.1, 0.9, 10, use="sum")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"error: 1\.5"):
        EcmSketch.for_error(1.5, 0.9, 10)
    with pytest.raises(ValueError, match="confidence: 2"):
        RandomisedEcmSketch.for_error(0.1, 2, 10, 1)
    sketch = EcmSketch.for_error(0.1, 0.9, 10)
    with pytest.raises(ValueError, match="ticks: 2 expected"):
        sketch.update([1, 2], ticks=[1])
    with pytest.raises(ValueError, match="weights: 2 expected"):
        sketch.update([1, 2], [1], ticks=1)
    with pytest.raises(ValueError, match="ticks: 3 expected"):
        sketch.update([1, 2, 3], [1, 0, 1], ticks=[1, 2])
