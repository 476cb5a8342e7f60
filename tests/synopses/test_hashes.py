"""One hash an item for every synopsis, its own seed mixed in: the same from items and from hashes made elsewhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from monitoring_lib.hashing import SPARK_SEED, hash_items
from monitoring_lib.synopses.count_min import CountMin
from monitoring_lib.synopses.cpc import Cpc
from monitoring_lib.synopses.distinct_sample import DistinctSample
from monitoring_lib.synopses.ecm import EcmSketch, EcmWaveSketch, RandomisedEcmSketch
from monitoring_lib.synopses.fm import FM
from monitoring_lib.synopses.fm_array import FmArray
from monitoring_lib.synopses.hashes import as_hashes, hash_pairs, seeded
from monitoring_lib.synopses.hll import Hll
from monitoring_lib.synopses.theta import Theta

MAKERS = {
    "fm": lambda seed: FM.of_size(64, seed=seed),
    "hll": lambda seed: Hll(8, seed),
    "cpc": lambda seed: Cpc(8, seed),
    "theta": lambda seed: Theta(8, seed),
    "distinct-sample": lambda seed: DistinctSample(100, seed, named=False),
    "fm-array": lambda seed: FmArray.of_size(2, 16, 8, seed=seed),
    "count-min": lambda seed: CountMin.for_error(0.05, 0.9, seed),
    "ecm": lambda seed: EcmSketch.for_error(0.2, 0.8, 50, seed=seed),
    "ecm of late events": lambda seed: EcmSketch.for_error(0.2, 0.8, 50, lateness=3, seed=seed),
    "ecm of waves": lambda seed: EcmWaveSketch.for_error(0.2, 0.8, 50, 100, seed=seed),
    "ecm of randomised waves": lambda seed: RandomisedEcmSketch.for_error(0.5, 0.5, 50, coins=1, seed=seed),
}
every = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
SEEDS = range(100)


@every
@pytest.mark.parametrize("seed", [SPARK_SEED, 0, 7, 2**63 + 5, -3])
@pytest.mark.parametrize("kind", ["numbers", "strings"])
def test_updating_with_items_is_updating_with_their_hashes(make: Any, seed: int, kind: str) -> None:
    numbers = np.random.default_rng(1).zipf(1.3, 70_000) % 5000  # more than one chunk
    items: Any = numbers if kind == "numbers" else [f"ключ {number}" for number in numbers]
    hashes, more = hash_items(items, SPARK_SEED), {}
    by_items, by_hashes, signed = make(seed), make(seed), make(seed)
    if hasattr(by_items, "window"):
        more = {"ticks": np.sort(np.random.default_rng(2).integers(0, 60, len(numbers)))}
    weights = np.random.default_rng(3).integers(0, 3, len(numbers))
    for batch_weights in (None, weights):
        given = {} if batch_weights is None else {"weights": batch_weights}
        if batch_weights is not None and more:
            more = {"ticks": 60}
        by_items.update(items, **given, **more)
        by_hashes.update_hashes(hashes, **given, **more)
        signed.update_hashes(hashes.view(np.int64), **given, **more)  # as Spark gives them
        assert by_hashes.to_bytes() == by_items.to_bytes() == signed.to_bytes()


@every
def test_what_is_no_row_of_64_bit_hashes_is_refused(make: Any) -> None:
    synopsis = make(1)
    more = {"ticks": 1} if hasattr(synopsis, "window") else {}
    for wrong in ([1.5], ["a"], np.arange(3, dtype=np.int32), np.zeros((2, 2), np.uint64)):
        with pytest.raises(ValueError, match=r"^hashes: a row of 64-bit hashes expected"):
            synopsis.update_hashes(wrong, **more)
    assert synopsis.to_bytes() == make(1).to_bytes()


def test_a_pair_is_hashed_as_documented() -> None:
    items, partners = hash_items(["a", "b"], SPARK_SEED), hash_items(np.array([1, 2]), SPARK_SEED)
    mixed = [(a * 0x9E3779B97F4A7C15 + b) % 2**64 for a, b in zip(items.tolist(), partners.tolist(), strict=True)]
    as_signed = np.array(mixed, np.uint64).view(np.int64)  # what the JVM would call the same 64 bits
    assert hash_pairs(items, partners).tolist() == hash_items(as_signed, SPARK_SEED).tolist()
    assert hash_pairs(items, partners).tolist() != hash_pairs(partners, items).tolist()
    assert hash_pairs(items).tolist() == hash_items(items.view(np.int64), SPARK_SEED).tolist()
    with pytest.raises(ValueError, match=r"^partners: 2 expected, one an item, found 1"):
        hash_pairs(items, partners[:1])


def test_an_array_of_pairs_takes_two_columns_of_hashes() -> None:
    rng = np.random.default_rng(4)
    items, partners = [f"item {number}" for number in rng.integers(0, 50, 40_000)], rng.integers(0, 9, 40_000)
    for seed in (SPARK_SEED, 5):
        plain, hashed = (FmArray.of_size(3, 32, 16, seed=seed) for _ in range(2))
        news = plain.update(items, partners)
        more = hashed.update_hashes(hash_items(items, SPARK_SEED), hash_items(partners, SPARK_SEED))
        assert plain.to_bytes() == hashed.to_bytes()
        assert news.tolist() == more.tolist()


def test_cells_of_their_own_need_the_items_and_samples_with_names_too() -> None:
    with pytest.raises(ValueError, match=r"^hashes: each item has a cell of its own"):
        FmArray(np.zeros((1, 8, 4), np.uint64), direct=True).update_hashes(np.arange(3))
    with pytest.raises(ValueError, match=r"^hashes: this sample names its items"):
        DistinctSample(50).update_hashes(np.arange(3))


def test_the_seed_of_spark_leaves_hashes_as_they_are() -> None:
    hashes = hash_items(np.arange(10), SPARK_SEED)
    assert seeded(hashes, SPARK_SEED).tolist() == hashes.tolist()
    assert as_hashes([]).tolist() == []


def test_mixing_a_seed_in_is_a_bijection() -> None:
    for seed in (0, 1, 2**64 - 1):
        assert len(np.unique(seeded(np.arange(200_000, dtype=np.uint64), seed))) == 200_000


def test_every_bit_of_a_hash_and_of_a_seed_changes_half_of_the_bits() -> None:
    """2,000 hashes: each share is within 5 standard errors (0.056) of a half, for 64 x 64 pairs of bits."""
    hashes = hash_items(np.arange(2000), SPARK_SEED)
    for seed in (0, 7, 12345):
        mixed = seeded(hashes, seed)
        others = [seeded(hashes ^ np.uint64(1 << bit), seed) for bit in range(64)]
        others += [seeded(hashes, seed ^ (1 << bit)) for bit in range(64)]
        for other in others:
            changed = ((mixed ^ other)[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
            assert np.abs(changed.mean(axis=0) - 0.5).max() < 0.056


def test_two_seeds_place_items_independently() -> None:
    """Chi-square of the joint low and high four bits under pairs of seeds: 255 degrees of freedom, so a value above
    390 has a probability of 1e-7."""
    hashes = hash_items(np.arange(50_000), SPARK_SEED)
    seeds = [SPARK_SEED, 0, 1, 2, 43, 2**32, 2**63]
    for number, seed in enumerate(seeds):
        for other in seeds[number + 1 :]:
            one, two = seeded(hashes, seed), seeded(hashes, other)
            for shift in (np.uint64(0), np.uint64(60)):
                cells = ((one >> shift) & np.uint64(15)) * np.uint64(16) + ((two >> shift) & np.uint64(15))
                counts, expected = np.bincount(cells.astype(int), minlength=256), len(hashes) / 256
                assert ((counts - expected) ** 2 / expected).sum() < 390


@pytest.mark.parametrize(
    ("make", "relative_error"),
    [
        (lambda seed: FM.of_size(256, seed=seed), 0.65 / math.sqrt(256)),
        (lambda seed: Hll(9, seed), 0.83 / math.sqrt(512)),  # one stream: better than after a merge
        (lambda seed: Theta(9, seed), 1 / math.sqrt(512)),
        (lambda seed: DistinctSample(512, seed, named=False), 1.2 / math.sqrt(512)),  # between a half and all are kept
    ],
    ids=["fm", "hll", "theta", "distinct-sample"],
)
def test_errors_over_seeds_spread_as_the_theory_says(make: Any, relative_error: float) -> None:
    """100 seeds: the spread is within 20 % at 2.8 standard errors, the mean within 3; the errors of neighbouring seeds
    are not correlated (3.5 standard errors)."""
    hashes = hash_items(np.arange(20_000), SPARK_SEED)
    errors = []
    for seed in SEEDS:
        sketch = make(seed)
        sketch.update_hashes(hashes)
        errors.append(sketch.estimate() / 20_000 - 1)
    assert 0.75 < np.std(errors) / relative_error < 1.25
    assert abs(np.mean(errors)) < 3 * relative_error / math.sqrt(len(SEEDS)) + 0.002
    assert abs(np.corrcoef(errors[1:], errors[:-1])[0, 1]) < 0.35
