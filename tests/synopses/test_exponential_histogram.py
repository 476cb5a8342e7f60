"""The exponential histogram, against its plain form and against exact counts."""

from __future__ import annotations

import numpy as np
import pytest

from monitoring_lib.synopses.exponential_histogram import ExponentialHistogram
from tests.synopses.bulks import assert_bulk_equals_singles
from tests.synopses.twins import (
    Events,
    PlainHistogram,
    assert_last_arrivals_hold,
    assert_range_holds,
    streams,
)

ERRORS = (0.9, 0.5, 0.3, 0.1, 0.03)


def histogram(error: float, window: int = 10**6, basis: str = "time") -> ExponentialHistogram:
    return ExponentialHistogram.for_error(error, window, basis=basis)  # type: ignore[arg-type]


def test_the_papers_example_has_buckets_of_8_4_2_1_and_1() -> None:
    """Figure 2, the second histogram: sixteen events at an error of one half."""
    counter = histogram(0.5)
    counter.update(ticks=np.arange(16))
    assert [size for size, _, _ in counter.buckets()] == [1, 1, 2, 4, 8]


@pytest.mark.parametrize("error", ERRORS)
def test_every_bucket_is_small_against_the_newer_ones(error: float) -> None:
    """Invariant I of the paper: size / (2 * (1 + events in newer buckets)) <= error."""
    counter = histogram(error)
    for tick in range(600):
        counter.update(ticks=[tick])
        newer = 0
        for size, _, _ in counter.buckets():
            assert size == 1 or size <= 2 * error * (1 + newer)
            newer += size


@pytest.mark.parametrize("error", ERRORS)
def test_buckets_are_those_of_the_plain_histogram(error: float) -> None:
    rng = np.random.default_rng(1)
    counter = histogram(error)
    plain, tick = PlainHistogram(counter.counters.most_ones), 0
    for _ in range(700):
        tick += int(rng.integers(0, 3))
        weight = 1 if rng.random() < 0.9 else int(rng.integers(0, 90))
        counter.update([weight], ticks=tick)
        for _ in range(weight):
            plain.insert(tick)
        assert counter.buckets() == plain.buckets()


@pytest.mark.parametrize("error", ERRORS)
def test_what_has_left_the_window_is_forgotten_and_changes_no_answer(error: float) -> None:
    """Against a plain histogram that forgets nothing: slow times, then faster ones, for which the ladder grows late."""
    rng, window = np.random.default_rng(2), 60
    counter = histogram(error, window)
    plain, shapes = PlainHistogram(counter.counters.most_ones), []
    for tick in range(1500):
        weight = int(rng.integers(0, 4 if tick < 900 else 40))
        counter.update([weight], ticks=tick)
        for _ in range(weight):
            plain.insert(tick)
        shapes.append(counter.counters.rings.shape[0])
        for span in {1, 7, window, int(rng.integers(1, window + 1))}:
            assert counter.estimate(span, tick) == plain.estimate(tick - span)
        buckets = counter.buckets()
        inside = [bucket for bucket in plain.buckets() if bucket[1] > tick - window]
        assert buckets[: len(inside)] == inside
    assert shapes[300] == shapes[899]
    assert shapes[899] <= shapes[1100] == shapes[-1]
    assert sum(size for size, _, _ in counter.buckets()) < counter.window.arrived


@pytest.mark.parametrize("name", streams(0))
@pytest.mark.parametrize("error", ERRORS)
def test_the_error_holds_for_every_range(error: float, name: str) -> None:
    weights, ticks = streams(2)[name]
    window = 1000
    counter = histogram(error, window)
    rng = np.random.default_rng(3)
    for batch in np.array_split(np.arange(len(ticks)), 7):
        counter.update(weights[batch], ticks=ticks[batch])
        seen: Events = (weights[: batch[-1] + 1], ticks[: batch[-1] + 1])
        newest = counter.window.newest
        for now in (newest, newest + 1, newest + 400, newest + 5 * window):
            for span in [1, 2, 3, window, *rng.integers(1, window + 1, 12).tolist()]:
                assert_range_holds(counter, seen, now, span, error)


@pytest.mark.parametrize("error", ERRORS)
def test_the_error_holds_for_the_last_arrivals(error: float) -> None:
    assert_last_arrivals_hold(histogram(error, 1000, "count"), error)


MISREADINGS = {
    "as few buckets of size 1 as of any other": {"few_ones": True},
    "a bucket of size 1 halved": {"halves_ones": True},
    "the oldest bucket counted whole": {"takes_oldest_whole": True},
}


@pytest.mark.parametrize("misreading", MISREADINGS)
def test_a_misreading_breaks_the_error_where_the_histogram_keeps_it(misreading: str) -> None:
    error, broken = 0.1, 0
    counter = histogram(error)
    mistold = PlainHistogram(counter.counters.most_ones, **MISREADINGS[misreading])
    for number in range(1, 120):
        counter.update(ticks=[10 * number])
        mistold.insert(10 * number)
        for truth in range(1, number + 1):
            cutoff = 10 * (number - truth)
            assert abs(counter.estimate(10 * truth) - truth) <= error * truth
            broken += abs(mistold.estimate(cutoff) - truth) > error * truth
    assert broken > 0


def test_a_bulk_is_its_single_events_to_the_byte() -> None:
    assert_bulk_equals_singles(lambda basis: histogram(0.2, 50, basis), [1, 2, 7, 8, 9, 40, 1000], 80)


def test_a_bulk_of_any_size_is_counted_at_once() -> None:
    counter = histogram(0.1, 100)
    counter.update([3, 10**15, 5], ticks=[1, 2, 3])
    assert counter.estimate(1) == 5
    assert counter.bound(2).holds(10**15 + 5)
    assert abs(counter.estimate(2) - 10**15) < 10**14
    assert counter.estimate(3) == 10**15 + 8  # all there ever was: exact
    assert counter.estimate(100, now=103) == 0 == counter.bound(100, now=103).high
    assert counter.size < 3000


def test_a_bulk_of_many_arrivals_takes_as_many_places() -> None:
    counter = histogram(0.1, 10**9, "count")
    counter.update([0, 10**12, 0])
    assert counter.window.newest == 10**12 + 2
    for span in (1, 2, 1000, 10**9):
        assert counter.bound(span).holds(span - 1)


def test_what_has_expired_long_ago_costs_no_accuracy() -> None:
    counter = histogram(0.25, 10)
    counter.update([10**9], ticks=0)
    counter.update(ticks=np.arange(1000, 1012))
    assert abs(counter.estimate(10) - 10) <= 2.5
    assert counter.bound(10).holds(10)


def test_an_empty_histogram_says_nothing_happened() -> None:
    counter = histogram(0.1, 10)
    assert counter.estimate() == 0
    assert counter.bound(3, now=-5).high == 0
    counter.update([0, 0], ticks=[5, 6])
    assert counter.window.arrived == 0


def test_wrong_parameters_are_named() -> None:
    for error in (0, 1, -0.5, float("nan"), 1e-9):
        with pytest.raises(ValueError, match="error: "):
            ExponentialHistogram.for_error(error, 10)
    with pytest.raises(ValueError, match="window: 0"):
        ExponentialHistogram.for_error(0.1, 0)
    with pytest.raises(ValueError, match="merge_levels: -1"):
        ExponentialHistogram.for_error(0.1, 10, merge_levels=-1)
    counter = histogram(0.1, 10)
    with pytest.raises(ValueError, match="span: 11"):
        counter.estimate(11)
    with pytest.raises(ValueError, match="weights: -1"):
        counter.update([-1], ticks=[1])
    with pytest.raises(ValueError, match="weights: whole numbers"):
        counter.update([0.5], ticks=[1])
    with pytest.raises(ValueError, match="ticks: whole numbers"):
        counter.update([1], ticks=[1.5])
    with pytest.raises(ValueError, match="ticks: "):
        counter.update([1, 1], ticks=[1, 2, 3])
    with pytest.raises(ValueError, match="ticks: a window of basis 'time'"):
        counter.update([1])
    with pytest.raises(ValueError, match="weights: the sum of all counts would be"):
        counter.update([2**62], ticks=[1])
    assert counter.window.arrived == 0
