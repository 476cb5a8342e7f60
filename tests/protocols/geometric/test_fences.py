"""The tests of single sites keep the sum of all arrays in bounds, whatever the arrays are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from monitoring_lib.protocols.geometric.self_join.fences import ConvexFence, Fence, HalfSpaceFence, bounds

FENCES = (ConvexFence(), HalfSpaceFence())


def passes(fence: Fence, before: np.ndarray, after: np.ndarray, tolerance: float) -> np.ndarray:
    """Which sites pass; arrays have the shape (sites, rows, columns)."""
    total, sites = before.sum(axis=0), len(before)
    norms = np.sqrt((total.astype(float) ** 2).sum(axis=1))
    low, high = bounds(norms, tolerance)
    normal, passed = fence.normal(norms, high), []
    for own, now in zip(before, after, strict=True):
        upper = fence.upper(sites, norms, total, now - own)
        lower = fence.lower(sites, norms, total, now - own)
        passed.append(normal @ upper <= high and bool((lower >= low).all()))
    return np.array(passed)


def size(arrays: np.ndarray) -> int:
    return int((arrays.sum(axis=0) ** 2).sum(axis=1).min())


@pytest.mark.parametrize("fence", FENCES, ids=lambda fence: type(fence).__name__)
def test_a_row_of_each_sites_own_choice_would_miss_a_size_of_two_and_a_half_times(fence: Fence) -> None:
    before = np.array([[[5, 0], [5, 0]], [[5, 0], [5, 0]]])
    after = np.array([[[10, 0], [5, 5]], [[5, 5], [10, 0]]])
    assert (size(before), size(after)) == (100, 250)
    assert not passes(fence, before, after, 0.5).all()


@pytest.mark.parametrize("fence", FENCES, ids=lambda fence: type(fence).__name__)
def test_random_arrays_that_pass_everywhere_keep_the_promise(fence: Fence) -> None:
    rng, all_passed = np.random.default_rng(7), 0
    for _ in range(6000):
        sites, rows, columns = rng.integers(1, 6), rng.integers(1, 4), rng.integers(1, 6)
        tolerance = float(rng.choice([0.05, 0.15, 0.3, 0.7]))
        before = rng.integers(0, rng.choice([3, 30, 300]), (sites, rows, columns))
        change = rng.integers(-9, 10, before.shape) * (rng.random(before.shape) < rng.random())
        after = np.maximum(before + change, 0)
        if size(before) and passes(fence, before, after, tolerance).all():
            all_passed += bool(change.any())
            assert (1 - tolerance) * size(after) <= size(before) <= (1 + tolerance) * size(after)
    assert all_passed > 300


@pytest.mark.parametrize("fence", FENCES, ids=lambda fence: type(fence).__name__)
def test_the_border_itself_fails(fence: Fence) -> None:
    """With a tolerance of 3/4 a size of 16 may become 64: twice the count of the only item, exactly the border."""
    before, after = np.array([[[4]]]), np.array([[[8]]])
    assert not passes(fence, before, after, 0.75).all()
    assert passes(fence, before, np.array([[[7]]]), 0.75).all()


def test_arrivals_and_expiries_cancel_in_the_convex_tests_alone() -> None:
    """Each site's item makes place for another of the same weight: the size stays, and only the paper's norms grow."""
    before = np.array([[[40, 40, 0, 0]], [[40, 40, 0, 0]]])
    after = np.array([[[44, 36, 0, 0]], [[36, 44, 0, 0]]])
    assert passes(ConvexFence(), before, after, 0.15).all()
    assert not passes(HalfSpaceFence(), before, after, 0.05).all()
    assert math.isclose(size(before), size(after))


@pytest.mark.parametrize("fence", FENCES, ids=lambda fence: type(fence).__name__)
def test_the_mean_of_the_values_bounds_the_norm_of_the_sum(fence: Fence) -> None:
    rng = np.random.default_rng(3)
    for _ in range(2000):
        sites, shape = int(rng.integers(1, 7)), (int(rng.integers(1, 4)), int(rng.integers(1, 8)))
        before, after = (rng.integers(0, 50, (sites, *shape)) + (rng.random((sites, *shape)) < 0.1) for _ in range(2))
        total = before.sum(axis=0)
        norms = np.sqrt((total.astype(float) ** 2).sum(axis=1))
        if not norms.all():
            continue
        now = np.sqrt((after.sum(axis=0).astype(float) ** 2).sum(axis=1))
        pairs = list(zip(before, after, strict=True))
        upper = np.mean([fence.upper(sites, norms, total, b - a) for a, b in pairs], axis=0)
        lower = np.mean([fence.lower(sites, norms, total, b - a) for a, b in pairs], axis=0)
        assert (lower <= now * (1 + 1e-9) + 1e-9).all()
        assert (now <= upper * (1 + 1e-9) + 1e-9).all()
