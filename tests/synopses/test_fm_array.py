"""Distinct heavy hitters by an array of FM sketches.

The statistical test: with 200 seeds, a true failure rate of 5 % gives more than 27 failures with a
probability of 1e-6; the rate seen is below 1 %, because Markov's inequality is generous to collisions.
"""

from __future__ import annotations

import numpy as np
import pytest

from monitoring_lib.synopses.fm import FM
from monitoring_lib.synopses.fm_array import FmArray


def skewed_pairs(rng: np.random.Generator, events: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    return np.minimum(rng.zipf(1.4, events), 2000), rng.integers(0, 2000, events)


def exact_counts(items: np.ndarray, partners: np.ndarray) -> dict[int, int]:
    different = np.unique(np.stack([items, partners]), axis=1)[0]
    return dict(zip(*(column.tolist() for column in np.unique(different, return_counts=True)), strict=True))


def test_counts_distinct_partners_not_events() -> None:
    """Objects asked for by the most different clients, however often one client asks (section 6.2)."""
    array = FmArray.of_size(3, 100, 256)
    array.update(["popular"] * 500 + ["hammered"] * 5000, [*range(500), *[7] * 5000])
    assert array.estimate("popular") == pytest.approx(500, rel=0.15)
    assert array.estimate("hammered") == pytest.approx(1, abs=1)
    assert [name for name, _ in array.heavy_hitters(["hammered", "popular"], 100)] == ["popular"]


def test_one_cell_is_one_fm_sketch() -> None:
    """The same likelihood from the same bits: with one row and one cell only the pairs' hash differs."""
    array, sketch = FmArray.of_size(1, 1, 512), FM.of_size(512)
    array.update(np.arange(10_000))
    sketch.update(np.arange(10_000))
    assert array.total() == array.estimate(1) == pytest.approx(sketch.estimate(), rel=0.1)


def test_every_item_is_within_its_bound() -> None:
    failures = tried = 0
    for seed in range(40):
        items, partners = skewed_pairs(np.random.default_rng(seed), 5000)
        array = FmArray.for_error(0.05, 0.4, 0.95, seed)
        array.update(items, partners)
        exact = exact_counts(items, partners)
        for item in (1, 2, 3, 10, 1999):
            failures += not array.bound(item, 0.95).holds(exact.get(item, 0))
            tried += 1
    assert tried == 200
    assert failures <= 27


def test_the_minimum_over_rows_is_hardly_biased_because_they_share_one_hash() -> None:
    """Independent hashes would lower the minimum by about 14 % with bitmaps this few."""
    estimates = []
    for seed in range(200):
        array = FmArray.of_size(4, 50, 16, seed=seed)
        array.update(np.zeros(2000, np.int64), np.arange(2000))
        estimates.append(array.estimate(0))
    assert np.mean(estimates) == pytest.approx(2000, rel=0.05)


def test_finds_the_heavy_hitters_in_order() -> None:
    items, partners = skewed_pairs(np.random.default_rng(1))
    array = FmArray.of_size(4, 400, 256)
    array.update(items, partners)
    exact = exact_counts(items, partners)
    found = array.heavy_hitters(np.unique(items), 0.1 * len(items) / 2)
    heavy = {item for item, count in exact.items() if count >= 0.13 * len(items) / 2}
    assert heavy
    assert heavy <= {item for item, _ in found}
    assert [count for _, count in found] == sorted((count for _, count in found), reverse=True)


def test_tells_which_pairs_set_a_bit_so_that_their_names_can_be_kept() -> None:
    array = FmArray.of_size(2, 50, 16)
    items, partners = np.array([1, 1, 2, 1]), np.array([5, 5, 5, 5])
    assert array.update(items, partners).tolist() == [0, 2]
    assert array.update(items, partners).tolist() == []
    assert array.update([1, 3, 4], [9, 9, 9], weights=[0, 1, 0]).tolist() == [1]


def test_bits_sent_by_name_give_the_same_array() -> None:
    items, partners = skewed_pairs(np.random.default_rng(2), 3000)
    site, coordinator = FmArray.of_size(3, 60, 16), FmArray.of_size(3, 60, 16)
    changed = site.update(items, partners)
    coordinator.set_bits(items[changed], site.bits_of(items, partners)[changed])
    assert coordinator.to_bytes() == site.to_bytes()
    assert len(changed) < len(items) / 2


def test_cells_of_their_own_do_not_collide() -> None:
    array = FmArray(np.zeros((1, 8, 256), np.uint64), direct=True)
    array.update(np.repeat(np.arange(8), 300), np.tile(np.arange(300), 8))
    assert array.estimates(np.arange(8)) == pytest.approx(np.full(8, 300.0), rel=0.15)
    assert array.errors(0.9)[1] == 0.0
    with pytest.raises(ValueError, match="items: 8 to 8 is not within 0 to 7"):
        array.update([8])
    with pytest.raises(ValueError, match="strings"):
        array.update(["8"])


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: FmArray(np.zeros(5, np.uint64)), "bitmaps"),
        (lambda: FmArray.of_size(2, 2, 2, levels=1), "levels"),
        (lambda: FmArray(np.zeros((2, 2, 2), np.uint64), direct=True), "direct"),
        (lambda: FmArray.of_size(2, 2, 2).update([1, 2], [1]), "partners"),
        (lambda: FmArray.of_size(2, 2, 2).set_bits([1], np.array([64])), "bits"),
        (lambda: FmArray.for_error(0.1, 0.1, 1.0), "confidence"),
    ],
)
def test_a_wrong_parameter_is_named(make: object, named: str) -> None:
    with pytest.raises(ValueError, match=f"^{named}"):
        make()  # type: ignore[operator]
