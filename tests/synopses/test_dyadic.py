"""Ranges of items, quantiles and heavy hitters, against the exact ones."""

from __future__ import annotations

import numpy as np
import pytest

from monitoring_lib.synopses.dyadic import DyadicEcm

BITS, WINDOW = 10, 500


@pytest.fixture(scope="module")
def events() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    items = np.where(rng.random(20_000) < 0.5, rng.zipf(1.3, 20_000), rng.integers(0, 1 << BITS, 20_000))
    return np.minimum(items, (1 << BITS) - 1), np.arange(20_000) // 20


@pytest.fixture(scope="module")
def sketch(events: tuple[np.ndarray, np.ndarray]) -> DyadicEcm:
    made = DyadicEcm.for_error(0.1, 0.99, BITS, WINDOW)
    made.update(events[0], ticks=events[1])
    return made


def inside(events: tuple[np.ndarray, np.ndarray], span: int) -> np.ndarray:
    items, ticks = events
    return items[ticks > ticks[-1] - span]


SPANS = (5, 100, WINDOW)


def test_a_range_is_covered_by_the_fewest_blocks() -> None:
    small = DyadicEcm.for_error(0.5, 0.5, 3, 10)
    assert small._cover(0, 7) == [(2, 0), (2, 1)]
    assert small._cover(1, 6) == [(0, 1), (0, 6), (1, 1), (1, 2)]
    assert small._cover(3, 3) == [(0, 3)]
    for first in range(8):
        for last in range(first, 8):
            covered = [
                i for level, block in small._cover(first, last) for i in range(block << level, block + 1 << level)
            ]
            assert sorted(covered) == list(range(first, last + 1))


@pytest.mark.parametrize("span", SPANS)
def test_the_number_of_events_of_a_range_of_items_lies_within_its_bound(
    events: tuple[np.ndarray, np.ndarray], sketch: DyadicEcm, span: int
) -> None:
    live, rng = inside(events, span), np.random.default_rng(2)
    ranges = [(0, 1023), (0, 0), (1, 1022), *(sorted(rng.integers(0, 1 << BITS, 2).tolist()) for _ in range(40))]
    for first, last in ranges:
        truth = int(((live >= first) & (live <= last)).sum())
        bound = sketch.bound_range(first, last, span)
        assert bound.holds(truth)
        assert bound.confidence >= 0.99
        assert abs(sketch.estimate_range(first, last, span) - truth) <= 0.1 * len(live)


@pytest.mark.parametrize("span", SPANS)
def test_quantiles_are_off_by_no_more_than_the_error_in_rank(
    events: tuple[np.ndarray, np.ndarray], sketch: DyadicEcm, span: int
) -> None:
    live = inside(events, span)
    for share in (0, 0.01, 0.25, 0.5, 0.9, 0.99, 1):
        item = sketch.quantile(share, span)
        assert (live < item).mean() <= share + 0.1
        assert (live <= item).mean() >= share - 0.1


@pytest.mark.parametrize("span", SPANS)
def test_no_heavy_hitter_is_missed_and_none_is_far_too_light(
    events: tuple[np.ndarray, np.ndarray], sketch: DyadicEcm, span: int
) -> None:
    live = inside(events, span)
    counts = np.bincount(live, minlength=1 << BITS)
    for share in (0.02, 0.05, 0.2):
        found = sketch.heavy_hitters(share, span)
        assert set(np.flatnonzero(counts >= share * len(live))) <= {hitter.item for hitter in found}
        assert all(counts[hitter.item] >= (share - 0.1) * len(live) for hitter in found)
        assert all(hitter.low <= counts[hitter.item] <= hitter.high for hitter in found)
        assert [hitter.estimate for hitter in found] == sorted((h.estimate for h in found), reverse=True)


def test_no_heavy_hitter_is_missed_whatever_the_seed() -> None:
    """A promise without a probability, so small and crowded sketches must keep it too."""
    rng = np.random.default_rng(3)
    for seed in range(40):
        sketch = DyadicEcm.for_error(0.9, 0.1, 8, 100, seed=seed)
        items, ticks = np.minimum(rng.zipf(1.2, 800), 255), np.sort(rng.integers(0, 200, 800))
        sketch.update(items, ticks=ticks)
        live = items[ticks > ticks[-1] - 70]
        counts = np.bincount(live, minlength=256)
        found = {hitter.item for hitter in sketch.heavy_hitters(0.05, 70)}
        assert set(np.flatnonzero(counts >= 0.05 * len(live))) <= found


def test_merged_sites_keep_the_error(events: tuple[np.ndarray, np.ndarray]) -> None:
    items, ticks = events
    parts = [DyadicEcm.for_error(0.2, 0.99, BITS, WINDOW, merge_levels=1) for _ in range(4)]
    for number, part in enumerate(parts):
        part.update(items[number::4], ticks=ticks[number::4])
    merged = DyadicEcm.merge_all(parts)
    live = inside(events, 200)
    assert merged.bound_range(3, 500, 200).holds(int(((live >= 3) & (live <= 500)).sum()))
    median = merged.quantile(0.5, 200)
    assert (live < median).mean() - 0.2 <= 0.5 <= (live <= median).mean() + 0.2
    heavy = set(np.flatnonzero(np.bincount(live) >= 0.05 * len(live)))
    assert heavy <= {hitter.item for hitter in merged.heavy_hitters(0.05, 200)}


def test_levels_with_few_blocks_count_them_without_collisions() -> None:
    sketch = DyadicEcm.for_error(0.1, 0.9, 16, WINDOW)
    assert [level.rows.hashed for level in sketch.levels] == [True] * 3 + [False] * 13
    assert len({level.rows.seed for level in sketch.levels[:3]}) == 3


def test_an_empty_sketch_has_no_heavy_hitters() -> None:
    sketch = DyadicEcm.for_error(0.5, 0.5, 4, 10)
    assert sketch.heavy_hitters(0.1) == []
    assert sketch.estimate_range(0, 15) == 0
    sketch.update([])
    sketch.update([3], ticks=[5])
    assert [hitter.item for hitter in sketch.heavy_hitters(0.1, now=9)] == [3]
    assert sketch.heavy_hitters(0.1, now=15) == []


def test_wrong_parameters_are_named() -> None:
    with pytest.raises(ValueError, match="bits: 0"):
        DyadicEcm.for_error(0.1, 0.9, 0, 10)
    with pytest.raises(ValueError, match="error: 1"):
        DyadicEcm.for_error(1, 0.9, 4, 10)
    sketch = DyadicEcm.for_error(0.5, 0.5, 4, 10)
    with pytest.raises(ValueError, match="items: 3 to 16 found, 0 to 15 allowed"):
        sketch.update([3, 16], ticks=[1, 1])
    with pytest.raises(ValueError, match="items: whole numbers expected"):
        sketch.update(["a"], ticks=[1])
    with pytest.raises(ValueError, match="first, last: 3 to 16"):
        sketch.estimate_range(3, 16)
    with pytest.raises(ValueError, match=r"share: 1\.5"):
        sketch.quantile(1.5)
    with pytest.raises(ValueError, match="share: 0"):
        sketch.heavy_hitters(0)
    with pytest.raises(ValueError, match="bits"):
        DyadicEcm.merge_all([sketch, DyadicEcm.for_error(0.5, 0.5, 5, 10)])
