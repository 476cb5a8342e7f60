"""Sums by item, the ground of the counters of frequent items."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from monitoring_lib.synopses import _sums
from monitoring_lib.synopses._sums import large_sums_by_item, sums_by_item


def exact(items: np.ndarray, weights: np.ndarray) -> dict[int, int]:
    sums: dict[int, int] = {}
    for item, weight in zip(items.tolist(), weights.tolist(), strict=True):
        sums[item] = sums.get(item, 0) + weight
    return {item: total for item, total in sums.items() if total}


@pytest.mark.parametrize("events", [0, 1, 5000, 70_000, 300_000])
def test_sums_are_exact_whether_the_keys_fit_one_part_or_many(events: int) -> None:
    rng = np.random.default_rng(events)
    items = rng.zipf(1.1, events) % 200_000 - 100_000
    weights = rng.integers(0, 3, events)
    keys, sums = sums_by_item(items, weights)
    assert dict(zip(keys.tolist(), sums.tolist(), strict=True)) == exact(items, weights)
    keys, counts = sums_by_item(items, None)
    assert dict(zip(keys.tolist(), counts.tolist(), strict=True)) == exact(items, np.ones(events, np.int64))


def test_keys_that_all_fall_into_one_part_are_summed_too() -> None:
    """Multiples of the factor's inverse, which nobody can guess, hash to 0, 1, 2, ..."""
    inverse = pow(int(_sums._FACTOR), -1, 1 << 64)
    items = np.array([(number * inverse) % (1 << 64) for number in range(5000)], np.uint64).view(np.int64)
    keys, counts = sums_by_item(np.tile(items, 20), None)
    assert sorted(keys.tolist()) == sorted(items.tolist())
    assert set(counts.tolist()) == {20}


@pytest.mark.parametrize("above", [1, 30, 500, 5000])
@pytest.mark.parametrize("events", [0, 100, 100_000])
def test_large_sums_are_exact_and_none_is_missing(events: int, above: int) -> None:
    rng = np.random.default_rng(events + above)
    items, weights = rng.zipf(1.2, events) % 50_000, rng.integers(0, 3, events)
    standing, standing_sums = np.arange(200), rng.integers(1, above + 1, 200)
    keys, sums = large_sums_by_item(items, weights, above, standing, standing_sums)
    found = dict(zip(keys.tolist(), sums.tolist(), strict=True))
    truth = exact(items, weights)
    assert found.items() <= truth.items()
    already = dict(zip(standing.tolist(), standing_sums.tolist(), strict=True))
    for item, total in truth.items():
        assert item in found or total + already.get(item, 0) <= above


def test_extreme_keys_are_keys_like_any_other() -> None:
    items = np.array([0, -1, 2**63 - 1, -(2**63), 0, -1])
    keys, counts = sums_by_item(items, None)
    assert dict(zip(keys.tolist(), counts.tolist(), strict=True)) == {0: 2, -1: 2, 2**63 - 1: 1, -(2**63): 1}


def test_strings_are_summed_by_content() -> None:
    names, sums = sums_by_item(pa.array(["é", "b", "é", "c"]), np.array([1, 2, 3, 0]))
    assert dict(zip(names.to_pylist(), sums.tolist(), strict=True)) == {"é": 4, "b": 2}
