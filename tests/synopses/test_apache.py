"""HLL, CPC and Theta through Apache DataSketches."""

from __future__ import annotations

import datasketches
import numpy as np
import pytest

from monitoring_lib.codec import encode
from monitoring_lib.hashing import SPARK_SEED, hash_items
from monitoring_lib.synopses._apache import ApacheSketch
from monitoring_lib.synopses.cpc import Cpc
from monitoring_lib.synopses.hll import Hll
from monitoring_lib.synopses.theta import Theta

KINDS = [Hll, Cpc, Theta]
every = pytest.mark.parametrize("kind", KINDS)


def fed(kind: type[ApacheSketch], items: object, size_log2: int = 10, seed: int = SPARK_SEED) -> ApacheSketch:
    sketch = kind(size_log2, seed)
    sketch.update(items)
    return sketch


@every
def test_few_items_are_counted_nearly_exactly(kind: type[ApacheSketch]) -> None:
    assert kind(10).estimate() == 0.0
    for items in (1, 2, 5, 30):
        sketch = fed(kind, [f"ключ {number}" for number in range(items)])
        assert sketch.estimate() == pytest.approx(items, rel=0.01)
        assert sketch.bound(0.95).holds(items)


@every
def test_the_bound_holds_for_95_of_100_seeds(kind: type[ApacheSketch]) -> None:
    """200 seeds: a true failure rate of 5 % gives more than 27 failures with a probability of 1e-6, one of 19
    % (errors half as large again) at most 27 with less than 3 %."""
    failures = sum(not fed(kind, np.arange(4000), 8, seed).bound(0.95).holds(4000) for seed in range(200))
    assert failures <= 27


@every
def test_a_size_for_an_error_keeps_it_also_after_a_merge(kind: type[ApacheSketch]) -> None:
    failures = 0
    for seed in range(40):
        parts = [kind.for_error(0.1, 0.95, seed) for _ in range(2)]
        for part, start in zip(parts, (0, 1000), strict=True):
            part.update(np.arange(start, start + 2000))
        failures += abs(parts[0].merge(parts[1]).estimate() - 3000) > 0.1 * 3000
    assert failures <= 6


@every
def test_a_sketch_restored_empty_counts_like_a_fresh_one(kind: type[ApacheSketch]) -> None:
    """DataSketches 5.2.0's own CPC says infinity here."""
    restored = kind(10, SPARK_SEED, kind(10).image)
    restored.update(np.arange(50))
    assert restored.estimate() == pytest.approx(50, rel=0.05)


@every
def test_every_bit_of_the_hash_counts(kind: type[ApacheSketch]) -> None:
    """Numbers from 2^63 on would be rounded to floats by the binding, and neighbours taken for one."""
    hashes = np.arange(2**64 - 500, 2**64, dtype=np.uint64)
    sketch = kind(12)
    sketch.update_hashes(hashes)
    assert sketch.estimate() == pytest.approx(500, rel=0.05)


def test_images_of_sparks_sketches_over_xxhash64_can_be_taken_in() -> None:
    theirs = datasketches.hll_sketch(12, datasketches.tgt_hll_type.HLL_8)
    for word in hash_items(np.arange(1000, 3000), SPARK_SEED).view(np.int64).tolist():
        theirs.update(word)
    adopted = Hll(12, SPARK_SEED, theirs.serialize_updatable())
    assert adopted.estimate() == pytest.approx(2000, rel=0.05)
    assert fed(Hll, np.arange(2000), 12).merge(adopted).estimate() == pytest.approx(3000, rel=0.06)


def test_theta_knows_what_two_have_in_common() -> None:
    first, second = fed(Theta, np.arange(3000), 12), fed(Theta, np.arange(2000, 5000), 12)
    assert isinstance(first, Theta)
    assert first.estimate_common(second) == pytest.approx(1000, rel=0.15)
    with pytest.raises(ValueError, match="size_log2: 12 against 11"):
        first.estimate_common(fed(Theta, [1], 11))


def test_cpc_has_the_smallest_image() -> None:
    sizes = {kind: len(encode(fed(kind, np.arange(100_000), 11))) for kind in KINDS}
    assert sizes[Cpc] < sizes[Hll] < sizes[Theta]


@every
def test_weights_of_0_did_not_occur(kind: type[ApacheSketch]) -> None:
    sketch = kind(10)
    sketch.update(np.arange(10), np.arange(10) % 2)
    assert round(sketch.estimate()) == 5


@every
def test_a_wrong_parameter_is_named(kind: type[ApacheSketch]) -> None:
    with pytest.raises(ValueError, match="size_log2: 30 is not within"):
        kind(30)
    with pytest.raises(ValueError, match=r"confidence: 0\.9999 is above"):
        kind(10).bound(0.9999)
    with pytest.raises(ValueError, match="tolerance"):
        kind.for_error(0, 0.9)
    with pytest.raises(ValueError, match=r"image|read|sketch|unknown"):
        kind(10, SPARK_SEED, b"no sketch at all")
    if kind is not Theta:  # its images do not say their nominal size
        with pytest.raises(ValueError, match="image: not one of size"):
            kind(10, SPARK_SEED, kind(11).image)
