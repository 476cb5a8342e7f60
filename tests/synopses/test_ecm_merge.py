"""Merges of ECM sketches over the levels of a tree."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pytest

from monitoring_lib.codec import decode
from monitoring_lib.synopses.ecm import EcmSketch, EcmWaveSketch, RandomisedEcmSketch

WINDOW, LEVELS, SITES = 1000, 2, 9
ITEMS = np.arange(1, 301)
MAKERS = {
    "histograms": lambda site: EcmSketch.for_error(0.15, 0.9999, WINDOW, merge_levels=LEVELS),
    "waves": lambda site: EcmWaveSketch.for_error(0.15, 0.9999, WINDOW, 500, merge_levels=LEVELS),
    "randomised": lambda site: RandomisedEcmSketch.for_error(0.3, 0.999, WINDOW, coins=site),
}
every = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())

Sites = tuple[list[Any], np.ndarray, np.ndarray]


def sites(make: Any, seed: int, amount: int = SITES) -> Sites:
    """Sketches of many sites whose clocks differ, and all their items and ticks."""
    rng = np.random.default_rng(seed)
    sketches, items, ticks = [], [], []
    for site in range(amount):
        sketches.append(make(site))
        items.append(np.minimum(rng.zipf(1.4, 1500), ITEMS[-1]))
        ticks.append(np.sort(rng.integers(0, 1400 + 30 * site, 1500)))
        sketches[-1].update(items[-1], ticks=ticks[-1])
    return sketches, np.concatenate(items), np.concatenate(ticks)


def root_of(sketches: list[Any]) -> Any:
    kind = type(sketches[0])
    return kind.merge_all([kind.merge_all(sketches[at : at + 3]) for at in range(0, SITES, 3)])


@every
def test_the_root_of_a_tree_keeps_the_error_that_its_leaves_were_made_for(make: Any) -> None:
    sketches, items, ticks = sites(make, 1)
    root = root_of(sketches)
    assert root.point_error <= (0.15 if make is not MAKERS["randomised"] else 0.3)
    assert root.window.newest == ticks.max()
    for span in (20, 300, WINDOW):
        truth = np.bincount(items[ticks > ticks.max() - span], minlength=ITEMS[-1] + 1)[1:]
        low, high = root.bounds(ITEMS, span)
        assert (low <= truth).all()
        assert (truth <= high).all()
        assert (abs(root.estimates(ITEMS, span) - truth) <= root.point_error * truth.sum()).all()
        assert root.arrivals(span).holds(truth.sum())


@every
def test_a_merge_of_stored_sketches_is_the_merge_of_those_in_memory(make: Any) -> None:
    sketches, _, _ = sites(make, 2)
    restored = [decode(sketch.to_bytes(), type(sketch)) for sketch in sketches]
    assert root_of(restored).to_bytes() == root_of(sketches).to_bytes()


@every
def test_the_order_of_the_parts_does_not_matter(make: Any) -> None:
    sketches, _, _ = sites(make, 3)
    kind = type(sketches[0])
    frames = {kind.merge_all(order).to_bytes() for order in (sketches, sketches[::-1], sketches[4:] + sketches[:4])}
    assert len(frames) == 1


@pytest.mark.parametrize("name", ["histograms", "waves"])
def test_24_sketches_merged_at_once_keep_the_bound_of_one_level_which_a_chain_of_merges_cannot_promise(
    name: str,
) -> None:
    sketches, items, ticks = sites(MAKERS[name], 6, amount=24)
    kind, own = type(sketches[0]), sketches[0].counters.error
    merged = kind.merge_all(sketches)
    chained = reduce(lambda left, right: left.merge(right), sketches)
    assert merged.counters.worst_error == pytest.approx(own + own + own * own)
    assert chained.counters.worst_error == pytest.approx((1 + own) ** 24 - 1)
    for span in (20, 300, WINDOW):
        truth = np.bincount(items[ticks > ticks.max() - span], minlength=ITEMS[-1] + 1)[1:]
        assert (abs(merged.estimates(ITEMS, span) - truth) <= merged.point_error * truth.sum()).all()


@every
def test_the_parts_of_the_bound_say_what_merging_cost(make: Any) -> None:
    sketches, _, _ = sites(make, 4)
    parts = root_of(sketches).bound(1, 500).parts
    assert parts["window"] > 0
    assert (parts["merge"] > 0) == (make is not MAKERS["randomised"])
    assert sketches[0].bound(1, 500).parts["merge"] == 0


def test_inner_products_of_merged_sketches_keep_their_error() -> None:
    def make(site: int) -> EcmSketch:
        return EcmSketch.for_error(0.1, 0.999, WINDOW, use="inner-product", merge_levels=LEVELS)

    sketches, items, ticks = sites(make, 5)
    root = root_of(sketches)
    assert root.inner_product_error <= 0.1
    for span in (50, WINDOW):
        truth = np.bincount(items[ticks > ticks.max() - span]).astype(float)
        assert root.bound_self_join(span).holds(truth @ truth)
        assert abs(root.self_join(span) - truth @ truth) <= 0.1 * truth.sum() ** 2


def test_sketches_that_count_arrivals_are_not_merged() -> None:
    sketch = EcmSketch.for_error(0.1, 0.9, WINDOW, basis="count")
    sketch.update(["a"])
    with pytest.raises(ValueError, match="basis: windows that count arrivals cannot be merged"):
        sketch.merge(sketch)
