"""The deterministic wave, against exact counts."""

from __future__ import annotations

import numpy as np
import pytest

from monitoring_lib.synopses.deterministic_wave import DeterministicWave
from tests.synopses.bulks import assert_bulk_equals_singles
from tests.synopses.twins import Events, assert_last_arrivals_hold, assert_range_holds, streams

ERRORS = (0.9, 0.5, 0.3, 0.1, 0.03)


def test_ranks_divisible_by_higher_powers_of_two_are_kept_for_longer() -> None:
    """The paper's structure: a rung a power of two, each with the newest of the ranks that reach it."""
    counter = DeterministicWave.for_error(1 / 3, 1000, 48)
    counter.update(ticks=np.arange(1, 49))
    rings = counter.counters.rings[:, 0, :]
    assert sorted(rings[0]) == [45, 47]
    assert sorted(rings[1]) == [42, 46]
    assert sorted(rings[2]) == [36, 44]
    assert sorted(rings[3]) == [24, 40]


@pytest.mark.parametrize("name", streams(0))
@pytest.mark.parametrize("error", ERRORS)
def test_the_error_holds_for_every_range_whatever_the_bound_of_arrivals(error: float, name: str) -> None:
    weights, ticks = streams(2)[name]
    window, rng = 1000, np.random.default_rng(3)
    for arrivals in (1, 300, 10**6):
        counter = DeterministicWave.for_error(error, window, arrivals)
        for batch in np.array_split(np.arange(len(ticks)), 5):
            counter.update(weights[batch], ticks=ticks[batch])
            seen: Events = (weights[: batch[-1] + 1], ticks[: batch[-1] + 1])
            newest = counter.window.newest
            for now in (newest, newest + 400, newest + 5 * window):
                for span in [1, 2, window, *rng.integers(1, window + 1, 8).tolist()]:
                    assert counter.worst_error <= error
                    assert_range_holds(counter, seen, now, span, counter.worst_error)


@pytest.mark.parametrize("error", ERRORS)
def test_the_error_holds_for_the_last_arrivals(error: float) -> None:
    assert_last_arrivals_hold(DeterministicWave.for_error(error, 1000, 1000, basis="count"), error)


def test_its_size_follows_the_window_and_not_all_time() -> None:
    counter = DeterministicWave.for_error(0.1, 100, 1000)
    shape = counter.counters.rings.shape
    for tick in range(0, 40000, 10):
        counter.update([100], ticks=tick)
    assert counter.counters.rings.shape == shape
    assert abs(counter.estimate(95) - 1000) <= 100


def test_a_bound_of_arrivals_that_proves_too_low_adds_rungs() -> None:
    counter = DeterministicWave.for_error(0.1, 100, 20)
    layers = counter.counters.rings.shape[0]
    counter.update(np.full(100, 50), ticks=np.arange(100))
    assert counter.counters.rings.shape[0] > layers
    for span in range(1, 101):
        assert abs(counter.estimate(span) - 50 * span) <= 5 * span


def test_a_bulk_is_its_single_events_to_the_byte() -> None:
    def make(basis: str) -> DeterministicWave:
        return DeterministicWave.for_error(0.2, 50, 10**5, basis=basis)  # type: ignore[arg-type]

    assert_bulk_equals_singles(make, [1, 2, 7, 8, 9, 40, 1000], 80)


def test_a_bulk_beyond_the_bound_of_arrivals_answers_as_its_single_events() -> None:
    bulk, single = (DeterministicWave.for_error(0.2, 50, 10) for _ in range(2))
    rng = np.random.default_rng(6)
    for tick in range(0, 300, 3):
        weight = int(rng.integers(1, 200))
        bulk.update([weight], ticks=tick)
        single.update(ticks=np.full(weight, tick))
        for span in range(1, 51, 7):
            assert bulk.bound(span) == single.bound(span)
            assert bulk.estimate(span) == single.estimate(span)
    assert bulk.counters.rings.shape == single.counters.rings.shape


def test_a_bulk_of_any_size_is_counted_at_once() -> None:
    for arrivals in (1, 2 * 10**15):
        counter = DeterministicWave.for_error(0.1, 100, arrivals)
        counter.update([3, 10**15, 5], ticks=[1, 2, 3])
        assert counter.estimate(1) == 5
        assert counter.bound(2).holds(10**15 + 5)
        assert counter.estimate(3) == 10**15 + 8
        assert counter.estimate(100, now=103) == 0


def test_wrong_parameters_are_named() -> None:
    with pytest.raises(ValueError, match="arrivals: 0"):
        DeterministicWave.for_error(0.1, 10, 0)
    with pytest.raises(ValueError, match="error: 2"):
        DeterministicWave.for_error(2, 10, 10)
