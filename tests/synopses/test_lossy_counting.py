"""Lossy counting in batches."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from monitoring_lib.synopses.lossy_counting import LossyCounting
from monitoring_lib.synopses.misra_gries import MisraGries


def text_leaf(often: str, seldom: str) -> list[str]:
    """One leaf of the paper's example, 100 events: A 9 times, 13 items 6 times, 13 others once."""
    return ["A"] * 9 + [f"{often}{i}" for i in range(13)] * 6 + [f"{seldom}{i}" for i in range(13)]


def counted(items: object, tolerance: float = 0.05) -> LossyCounting:
    synopsis = LossyCounting(tolerance=tolerance)
    synopsis.update(items)
    return synopsis


def assert_promise(synopsis: LossyCounting | MisraGries, exact: Counter[object]) -> None:
    assert synopsis.total == sum(exact.values())
    for item in [*exact, "never seen" if synopsis.items.names else -1]:
        estimate = synopsis.estimate(item)  # type: ignore[arg-type]
        assert exact[item] - synopsis.lowered <= estimate <= exact[item]
        assert synopsis.bound(item).holds(exact[item])  # type: ignore[arg-type]


def test_the_papers_example() -> None:
    """Section 2.1.1, table 2: with a tolerance of 0.03 a leaf sends A as 6 and the B's as 3; with 0.05, 4 and
    1."""
    leaf = text_leaf("B", "C")
    assert len(leaf) == 100
    assert dict(counted(leaf, 0.03)) == {"A": 6} | {f"B{i}": 3 for i in range(13)}
    assert dict(counted(leaf, 0.05)) == {"A": 4} | {f"B{i}": 1 for i in range(13)}
    assert counted(leaf, 0.03).estimate("C0") == 0


def test_a_tolerance_means_its_decimal_digits() -> None:
    """0.29 * 100 is 28.999999999999996 in floating point."""
    assert counted(["a"] * 100, 0.29).lowered == 29


@pytest.mark.parametrize("tolerance", [0.001, 0.01, 0.2])
def test_counts_are_within_the_promise_after_every_batch(tolerance: float) -> None:
    rng = np.random.default_rng(1)
    synopsis, exact = LossyCounting(tolerance=tolerance), Counter[object]()
    for _ in range(20):
        items = rng.zipf(1.3, rng.integers(0, 800)) % 500
        weights = rng.integers(0, 4, len(items))
        synopsis.update(items, weights)
        for item, weight in zip(items.tolist(), weights.tolist(), strict=True):
            exact[item] += weight
        assert synopsis.lowered == int(tolerance * synopsis.total)
        assert_promise(synopsis, exact)


def test_an_adversary_who_spreads_an_item_thinly_gains_no_more_than_the_tolerance() -> None:
    """The victim comes in every batch, each time just rare enough to be dropped."""
    synopsis, exact = LossyCounting(tolerance=0.1), Counter[object]()
    for batch in range(50):
        items = [0] * 10 + list(range(1 + 90 * batch, 91 + 90 * batch))
        synopsis.update(items)
        exact.update(items)
        assert_promise(synopsis, exact)
    assert synopsis.estimate(0) == 0
    assert exact[0] == 500 == synopsis.lowered


def test_one_batch_leaves_no_more_items_than_one_by_tolerance() -> None:
    for seed in range(20):
        items = np.random.default_rng(seed).zipf(1.1, 5000) % 3000
        assert len(counted(items, 0.01)) <= 100


def test_heavy_hitters_miss_none_and_invent_none() -> None:
    items = np.random.default_rng(2).zipf(1.5, 10_000) % 1000
    exact = Counter(items.tolist())
    synopsis = counted(items, 0.01)
    found = synopsis.heavy_hitters(0.05)
    assert {item for item, count in exact.items() if count > 500} <= {item for item, _ in found}
    assert all(exact[item] > 500 - synopsis.lowered for item, _ in found)
    assert [count for _, count in found] == sorted((count for _, count in found), reverse=True)


def test_merging_many_sites_keeps_the_promise() -> None:
    rng = np.random.default_rng(3)
    merged, exact = LossyCounting(tolerance=0.02), Counter[object]()
    for _ in range(16):
        items = [f"é{number}" for number in rng.zipf(1.4, 700) % 300]
        merged = merged.merge(counted(items, 0.02))
        exact.update(items)
    assert merged.lowered <= 0.02 * merged.total
    assert_promise(merged, exact)


def test_many_rare_items_in_a_large_batch_hide_no_frequent_one() -> None:
    """Large enough for the buckets to be used, whose rare items are never counted one by one."""
    rng = np.random.default_rng(4)
    synopsis, exact = LossyCounting(tolerance=0.001), Counter[object]()
    for batch in range(3):
        items = rng.permutation(np.concatenate([rng.integers(0, 10**9, 60_000), np.repeat(np.arange(300), 100)]))
        weights = rng.integers(0, 2 + batch, len(items))
        synopsis.update(items, weights)
        for item, weight in zip(items.tolist(), weights.tolist(), strict=True):
            exact[item] += weight
    assert 0 < len(synopsis) <= 1000
    assert all(0 <= exact[item] - count <= synopsis.lowered for item, count in synopsis)
    assert all(count <= synopsis.lowered or item in dict(synopsis) for item, count in exact.items() if count > 99)


def test_a_refused_batch_changes_nothing() -> None:
    synopsis = counted([1, 1, 2])
    before = synopsis.to_bytes()
    for wrong, weights in ((["1"], None), ([1], [-1])):
        with pytest.raises(ValueError, match=r"items|weights"):
            synopsis.update(wrong, weights)
    assert synopsis.to_bytes() == before


def test_an_empty_batch_changes_nothing() -> None:
    synopsis = counted(["a", "b", "a"])
    before = synopsis.to_bytes()
    synopsis.update([])
    synopsis.update(["z"], [0])
    assert synopsis.to_bytes() == before


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: LossyCounting(tolerance=0.0), "tolerance"),
        (lambda: LossyCounting(tolerance=0.1, total=10, lowered=2), "lowered"),
        (lambda: counted([1]).update([1], [-1]), "weights"),
        (lambda: counted([1]).update([1], [0.5]), "weights"),
        (lambda: counted([1]).update(["1"]), "items"),
        (lambda: counted([1]).heavy_hitters(2), "share"),
    ],
)
def test_a_wrong_parameter_is_named(make: object, named: str) -> None:
    with pytest.raises(ValueError, match=f"^{named}"):
        make()  # type: ignore[operator]
