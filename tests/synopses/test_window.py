"""The window's clock: late events, refusals, and what does not depend on the order of arrival."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from monitoring_lib.codec import decode
from monitoring_lib.synopses.deterministic_wave import DeterministicWave
from monitoring_lib.synopses.ecm import EcmSketch
from monitoring_lib.synopses.exponential_histogram import ExponentialHistogram
from monitoring_lib.synopses.randomised_wave import RandomisedWave
from tests.synopses.twins import exact

LATENESS = 25
MAKERS = {
    "histogram": lambda **more: ExponentialHistogram.for_error(0.1, 300, **more),
    "wave": lambda **more: DeterministicWave.for_error(0.1, 300, 100, **more),
    "randomised": lambda **more: RandomisedWave.for_error(0.3, 0.9, 300, coins=4, **more),
}
every = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())


def late_stream(seed: int, events: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Weights and ticks that are up to LATENESS behind the newest tick before them."""
    rng = np.random.default_rng(seed)
    ticks = np.sort(rng.integers(0, 1000, events))
    return rng.integers(1, 4, events), ticks - rng.integers(0, LATENESS + 1, events)


@every
def test_late_events_are_counted_where_they_belong(make: Any) -> None:
    weights, ticks = late_stream(1)
    counter = make(lateness=LATENESS)
    for batch in np.array_split(np.arange(len(ticks)), 60):
        counter.update(weights[batch], ticks=ticks[batch])
        seen = weights[: batch[-1] + 1], ticks[: batch[-1] + 1]
        for span in (1, 5, LATENESS, LATENESS + 1, 100, 300):
            truth = exact(seen, counter.window.newest - span)
            assert counter.bound(span).holds(truth)
            assert abs(counter.estimate(span) - truth) <= counter.worst_error * truth


@every
def test_the_order_of_arrival_leaves_no_trace(make: Any) -> None:
    weights, ticks = late_stream(2)
    newest = ticks.max() + LATENESS + 1
    frames = set()
    for order in (np.arange(len(ticks)), np.argsort(ticks, kind="stable")):
        counter = make(lateness=LATENESS)
        counter.update(weights[order], ticks=ticks[order])
        counter.update(ticks=[newest])
        frames.add(counter.to_bytes())
    assert len(frames) == 1


@every
def test_a_tick_that_is_too_late_is_refused_with_its_batch(make: Any) -> None:
    counter = make(lateness=LATENESS)
    counter.update(ticks=[100, 100 - LATENESS])
    before = counter.to_bytes()
    with pytest.raises(
        ValueError, match=r"ticks: 74 at position 1 is 26 behind the newest tick, 100; a lateness of 25"
    ):
        counter.update(ticks=[100, 74])
    with pytest.raises(ValueError, match="ticks: 100 at position 2 is 900 behind the newest tick, 1000"):
        counter.update(ticks=[100, 1000, 100])
    assert counter.to_bytes() == before


@every
def test_without_lateness_ticks_must_not_fall(make: Any) -> None:
    counter = make()
    counter.update(ticks=[5, 5, 6])
    with pytest.raises(ValueError, match="Sort the batch, or make the synopsis with a larger lateness"):
        counter.update(ticks=[5])
    with pytest.raises(ValueError, match="ticks: 8 at position 2 is 1 behind the newest tick, 9"):
        counter.update(ticks=[7, 9, 8])
    assert counter.window.newest == 6


@every
def test_what_is_held_back_survives_storage(make: Any) -> None:
    weights, ticks = late_stream(3)
    counter = make(lateness=LATENESS)
    counter.update(weights[:900], ticks=ticks[:900])
    assert len(counter.window.held_ticks)
    restored = decode(counter.to_bytes(), type(counter))
    for each in (counter, restored):
        each.update(weights[900:], ticks=ticks[900:])
    assert restored.to_bytes() == counter.to_bytes()


def test_late_items_of_a_sketch_are_counted_where_they_belong() -> None:
    rng = np.random.default_rng(4)
    weights, ticks = late_stream(4)
    items = np.minimum(rng.zipf(1.5, len(ticks)), 200)
    sketch = EcmSketch.for_error(0.1, 0.9999, 300, lateness=LATENESS)
    for batch in np.array_split(np.arange(len(ticks)), 23):
        sketch.update(items[batch], weights[batch], ticks=ticks[batch])
    assert len(sketch.window.held_ticks)
    for span in (3, 40, 300):
        inside = ticks > sketch.window.newest - span
        truth = np.bincount(items[inside], weights[inside], minlength=201)[1:]
        low, high = sketch.bounds(np.arange(1, 201), span)
        assert (low <= truth).all()
        assert (truth <= high).all()


def test_ranges_end_now() -> None:
    counter = ExponentialHistogram.for_error(0.1, 10)
    counter.update(ticks=[5])
    with pytest.raises(ValueError, match="now: 4 is before the newest tick, 5"):
        counter.estimate(3, now=4)
    assert counter.estimate(3, now=7) == 1
    assert counter.estimate(3, now=8) == 0


def test_a_window_that_counts_takes_neither_ticks_nor_lateness_nor_now() -> None:
    with pytest.raises(ValueError, match="lateness: arrivals that are counted cannot be late"):
        ExponentialHistogram.for_error(0.1, 10, basis="count", lateness=1)
    counter = ExponentialHistogram.for_error(0.1, 10, basis="count")
    with pytest.raises(ValueError, match="ticks: a window of basis 'count'"):
        counter.update([1], ticks=[1])
    with pytest.raises(ValueError, match="now: a window of basis 'count'"):
        counter.estimate(3, now=4)
    with pytest.raises(ValueError, match="basis: 'days'"):
        ExponentialHistogram.for_error(0.1, 10, basis="days")  # type: ignore[arg-type]


def test_ticks_too_far_from_zero_are_refused() -> None:
    counter = ExponentialHistogram.for_error(0.1, 10)
    for tick in (2**61, -(2**61)):
        with pytest.raises(ValueError, match="beyond"):
            counter.update(ticks=[tick])
