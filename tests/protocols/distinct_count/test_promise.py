"""The promise over many seeds: bounds hold as often as they say, and the estimate is as near as it should be."""

from __future__ import annotations

import numpy as np
import pytest

from monitoring_lib.hashing import hash_integers
from monitoring_lib.promises import most_broken
from monitoring_lib.protocols.distinct_count.question import limits
from monitoring_lib.protocols.distinct_count.sketched.bitmaps import BitmapForm
from monitoring_lib.synopses.fm import FM
from tests.protocols.distinct_count.driver import method

COUNTS = (1, 5, 20, 60, 170, 500, 3000, 20_000)


@pytest.mark.slow
@pytest.mark.parametrize("runs", [60, pytest.param(1000, marks=pytest.mark.long)])
@pytest.mark.parametrize("estimator", ["likelihood", "pcsa"])
@pytest.mark.parametrize("error", [0.1, 0.9])
def test_the_fewest_bitmaps_hold_every_number_as_often_as_they_say(estimator: str, error: float, runs: int) -> None:
    """Were 30 % of 60 runs broken, or 10 % of 1000, where 5 % are promised, 95 in 100 tests would notice it."""
    running = method(error=error, confidence=0.95, estimator=estimator)
    form, size = BitmapForm(running.ask), running.summary().bitmaps  # type: ignore[attr-defined]
    missed = dict.fromkeys(COUNTS, 0)
    for seed in range(runs):
        for count in COUNTS:
            sketch = FM.of_size(size, seed=seed)
            sketch.update_hashes(hash_integers(np.arange(count), 42))
            estimate, low, high = form.bounds(sketch.bitmaps, 0.0)
            least, most = limits(running.ask, estimate)
            missed[count] += not max(low, least) <= count <= min(high, most)
    assert {n: bad for n, bad in missed.items() if bad > most_broken(runs, 0.95)} == {}


@pytest.mark.parametrize("bitmaps", [8, 12, 15])
def test_fewer_than_16_bitmaps_are_too_few_for_any_error(bitmaps: int) -> None:
    (fault,) = method(error=0.9, bitmaps=bitmaps).faults()
    assert "needs 16 to" in fault.problem


@pytest.mark.parametrize("runs", [40, pytest.param(400, marks=pytest.mark.long)])
def test_1024_bitmaps_stay_within_10_percent_from_20_items_on_in_399_of_400_runs(runs: int) -> None:
    items = hash_integers(np.arange(20_000), 42)
    steps = np.unique(np.geomspace(20, len(items), 40).astype(int))
    within = 0
    for seed in range(runs):
        sketch, before, good = FM.of_size(1024, seed=seed), 0, True
        for count in steps:
            sketch.update_hashes(items[before:count])
            before = count
            good = good and abs(sketch.estimate() - count) <= 0.1 * count
        within += good
    assert within >= runs * 399 // 400
