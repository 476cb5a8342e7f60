"""Frequent items through Apache DataSketches."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from monitoring_lib.synopses.space_saving import SpaceSaving


def counted(items: object, size_log2: int = 6) -> SpaceSaving:
    synopsis = SpaceSaving(size_log2)
    synopsis.update(items)
    return synopsis


def test_what_fits_is_exact() -> None:
    synopsis = counted(["é", "b", "é", "日本"])
    assert synopsis.estimate("é") == 2
    assert (synopsis.bound("é").low, synopsis.bound("é").high) == (2, 2)
    assert synopsis.heavy_hitters(0.3) == [("é", 2)]


def test_counts_are_within_the_promise_after_every_batch_and_merge() -> None:
    rng = np.random.default_rng(1)
    exact, whole, merged = Counter[int](), SpaceSaving(6), SpaceSaving(6)
    for _ in range(15):
        items = rng.zipf(1.3, 800) % 500
        whole.update(items)
        merged = merged.merge(counted(items))
        exact.update(items.tolist())
    for synopsis in (whole, merged):
        assert synopsis.total == sum(exact.values())
        assert len(synopsis) <= 0.75 * 64
        for item in range(500):
            bound = synopsis.bound(item)
            assert bound.holds(exact[item])
            assert bound.high - bound.low <= 3.5 / 64 * synopsis.total


def test_heavy_hitters_miss_none() -> None:
    items = np.random.default_rng(2).zipf(1.5, 10_000) % 1000
    exact = Counter(items.tolist())
    found = {name for name, _ in counted(items).heavy_hitters(0.06)}
    assert {str(item) for item, count in exact.items() if count > 600} <= found


def test_the_size_follows_from_the_tolerance() -> None:
    for tolerance in (0.5, 0.1, 0.001):
        assert 3.5 / (1 << SpaceSaving.for_error(tolerance).size_log2) <= tolerance


def test_a_wrong_parameter_is_named() -> None:
    with pytest.raises(ValueError, match="size_log2: 2 is not within 3 to 26"):
        SpaceSaving(2)
    with pytest.raises(ValueError, match=r"image: not one of 2\^7 slots"):
        SpaceSaving(7, SpaceSaving(6).image)
    with pytest.raises(ValueError, match=r"^image|corruption"):
        SpaceSaving(6, b"\0" * 40)
    with pytest.raises(ValueError, match=r"^share"):
        counted(["a"]).heavy_hitters(-1)
