"""Misra-Gries counters."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from monitoring_lib.synopses.misra_gries import MisraGries
from tests.synopses.test_lossy_counting import assert_promise, text_leaf


def counted(items: object, capacity: int) -> MisraGries:
    synopsis = MisraGries(capacity=capacity)
    synopsis.update(items)
    return synopsis


def test_takes_off_the_first_count_that_does_not_fit() -> None:
    """Algorithm 1b on the paper's leaf: with room for 13 counters the 14th largest, a B, is taken off all."""
    synopsis = counted(text_leaf("B", "C"), 13)
    assert dict(synopsis) == {"A": 3}
    assert synopsis.lowered == 6
    assert dict(counted(text_leaf("B", "C"), 14)) == {"A": 8} | {f"B{i}": 5 for i in range(13)}


def test_what_fits_is_exact() -> None:
    synopsis = counted(["a", "b", "a"], 2)
    assert dict(synopsis) == {"a": 2, "b": 1}
    assert synopsis.lowered == 0


@pytest.mark.parametrize("capacity", [1, 9, 100])
def test_counts_are_within_the_promise_after_every_batch_and_merge(capacity: int) -> None:
    rng = np.random.default_rng(1)
    exact, whole, merged = Counter[object](), MisraGries(capacity=capacity), MisraGries(capacity=capacity)
    for _ in range(20):
        items = rng.zipf(1.3, rng.integers(0, 800)) % 500
        whole.update(items)
        merged = merged.merge(counted(items, capacity))
        exact.update(items.tolist())
        for synopsis in (whole, merged):
            assert len(synopsis) <= capacity
            assert synopsis.lowered * (capacity + 1) + int(synopsis.counts.sum()) <= synopsis.total
            assert_promise(synopsis, exact)


def test_a_majority_survives_any_order_of_the_rest() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        items = rng.permutation(np.concatenate([np.zeros(51, np.int64), np.arange(1, 50)]))
        synopsis = MisraGries(capacity=1)
        for item in items:
            synopsis.update([item])
        assert synopsis.estimate(0) > 0


def test_equal_counts_all_vanish_together() -> None:
    assert dict(counted(range(10), 9)) == {}


def test_the_size_follows_from_the_tolerance() -> None:
    for tolerance in (0.5, 0.3, 0.01):
        capacity = MisraGries.for_error(tolerance).capacity
        assert 1 / (capacity + 1) <= tolerance


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: MisraGries(capacity=0), "capacity"),
        (lambda: MisraGries.for_error(0), "tolerance"),
        (lambda: counted([1], 5).update([1], [-1]), "weights"),
        (lambda: MisraGries(capacity=5, total=3, lowered=4), "total"),
        (lambda: counted([1], 5).merge(counted(["1"], 5)), "parts"),
    ],
)
def test_a_wrong_parameter_is_named(make: object, named: str) -> None:
    with pytest.raises(ValueError, match=f"^{named}"):
        make()  # type: ignore[operator]
