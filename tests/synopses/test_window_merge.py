"""The merge that preserves the order of events, over any number of levels, at its worst and at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from monitoring_lib.synopses.deterministic_wave import DeterministicWave
from monitoring_lib.synopses.exponential_histogram import ExponentialHistogram
from tests.synopses.twins import exact

MAKERS = {
    "histogram": ExponentialHistogram.for_error,
    "wave": lambda error, window, **more: DeterministicWave.for_error(error, window, 50, **more),
}
both = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())

CUTOFF = 100


def half_error(before: int, after: int) -> ExponentialHistogram:
    """A histogram of error one half with events at the cutoff and right after it."""
    counter = ExponentialHistogram.for_error(0.5, 1000)
    counter.update([before, after], ticks=[CUTOFF, CUTOFF + 1])
    return counter


def overstated(after: int) -> ExponentialHistogram:
    """A histogram that is as wrong as it can be: of its largest bucket just one event lies after the cutoff."""
    return half_error(after - 1, after)


def after_cutoff(counter: ExponentialHistogram) -> float:
    return counter.estimate(counter.window.newest - CUTOFF)


def replayed_before(counter: ExponentialHistogram) -> int:
    """The events that a merge of this histogram replays at the cutoff."""
    return counter.window.arrived - int(after_cutoff(counter))


def overstated_merge(parts: list[ExponentialHistogram]) -> ExponentialHistogram:
    """A merge of overstated parts, filled up with events at the cutoff until it is as wrong as it can be itself."""
    after = round(sum(after_cutoff(part) for part in parts))
    filler = half_error(after - 1 - sum(replayed_before(part) for part in parts), 0)
    return ExponentialHistogram.merge_all([*parts, filler])


def test_the_worst_merge_of_two_levels_turns_125_into_383() -> None:
    """It exceeds the paper's bound for two levels, 2 * 0.5 * 1.5 + 0.5, and keeps the true one, 1.5 ** 3 - 1."""
    inner = [
        overstated_merge([overstated(size) for size in sizes])
        for sizes in ([64, 16, 4, 4], [16, 4, 2, 2], [4, 2, 1], [2, 2], [2])
    ]
    assert [after_cutoff(part) for part in inner] == [191, 47, 11, 5, 2]
    root = overstated_merge(inner)
    truth = 64 + 16 + 4 + 4 + 16 + 4 + 2 + 2 + 4 + 2 + 1 + 2 + 2 + 2
    assert (truth, after_cutoff(root)) == (125, 383)
    assert after_cutoff(root) > truth * (1 + 2 * 0.5 * 1.5 + 0.5)
    assert root.worst_error == pytest.approx(1.5**3 - 1)
    assert after_cutoff(root) <= truth * (1 + root.worst_error)
    assert root.bound(root.window.newest - CUTOFF).holds(truth)


def test_a_bucket_of_one_goes_to_its_end() -> None:
    first, second = (ExponentialHistogram.for_error(0.1, 1000) for _ in range(2))
    first.update(ticks=[1, 500])
    second.update(ticks=[2])
    merged = first.merge(second)
    assert [merged.estimate(span) for span in (1, 498, 499, 500)] == [1, 1, 2, 3]


@both
def test_few_events_merge_without_loss(make: Any) -> None:
    parts = [make(0.05, 1000) for _ in range(4)]
    for number, part in enumerate(parts):
        part.update(ticks=np.arange(number, 20 + number, 4))
    merged = type(parts[0]).merge_all(parts)
    ticks = np.concatenate([np.arange(number, 20 + number, 4) for number in range(4)])
    for span in range(1, 25):
        assert merged.estimate(span) == (ticks > merged.window.newest - span).sum()


@both
def test_the_bound_holds_over_any_levels_of_random_merges(make: Any) -> None:
    rng = np.random.default_rng(8)
    for _ in range(60):
        error, window = float(rng.choice([0.9, 0.5, 0.3, 0.1])), int(rng.integers(5, 3000))
        lateness = int(rng.choice([0, 60]))
        parts, weights, ticks = [], [], []
        for _ in range(int(rng.integers(2, 10))):
            amount = int(rng.integers(0, 400))
            weights.append(np.where(rng.random(amount) < 0.9, 1, rng.integers(0, 100, amount)))
            in_order = np.cumsum(rng.integers(0, rng.choice([1, 2, 5, 20]), amount))
            ticks.append(in_order - rng.integers(0, lateness + 1, amount))
            part = make(error, window, lateness=lateness)
            part.update(weights[-1], ticks=ticks[-1])
            parts.append(part)
        while len(parts) > 1:
            group = int(rng.integers(2, 5))
            parts = [type(part).merge_all(parts[at : at + group]) for at, part in list(enumerate(parts))[::group]]
        root, events = parts[0], (np.concatenate(weights), np.concatenate(ticks))
        for span in rng.integers(1, window + 1, 20).tolist():
            truth, estimate = exact(events, root.window.newest - span), root.estimate(span)
            assert abs(estimate - truth) <= root.worst_error * truth + 1e-9
            assert root.bound(span).holds(truth)


@both
def test_counters_made_for_a_tree_keep_the_wanted_error_at_its_root(make: Any) -> None:
    for levels in (0, 1, 3, 6):
        counter = make(0.2, 1000, merge_levels=levels)
        other = make(0.2, 1000, merge_levels=levels)
        for each in (counter, other):
            each.update(ticks=[1])
        for _ in range(levels):
            counter = counter.merge(other)
        assert counter.counters.merges == levels
        assert counter.worst_error <= 0.2 + 1e-12
    assert make(0.2, 10, merge_levels=2).counters.error <= 1.2 ** (1 / 3) - 1


@both
def test_a_merge_of_many_is_one_level(make: Any) -> None:
    parts = [make(0.1, 100) for _ in range(9)]
    for number, part in enumerate(parts):
        part.update(ticks=[number])
    kind = type(parts[0])
    assert kind.merge_all(parts).counters.merges == 1
    assert kind.merge_all([kind.merge_all(parts[:5]), *parts[5:]]).counters.merges == 2


@both
def test_24_parts_merged_at_once_keep_the_bound_of_one_level(make: Any) -> None:
    rng = np.random.default_rng(10)
    for error in (0.5, 0.1, 0.03):
        parts, weights, ticks = [make(error, 2000) for _ in range(24)], [], []
        for part in parts:
            weights.append(rng.integers(1, 20, 300))
            ticks.append(np.sort(rng.integers(0, 2500, 300)))
            part.update(weights[-1], ticks=ticks[-1])
        merged, events = type(parts[0]).merge_all(parts), (np.concatenate(weights), np.concatenate(ticks))
        own = parts[0].counters.error
        assert merged.worst_error == pytest.approx(own + own + own * own)
        for span in rng.integers(1, 2001, 100).tolist():
            truth = exact(events, merged.window.newest - span)
            assert abs(merged.estimate(span) - truth) <= merged.worst_error * truth
            assert merged.bound(span).holds(truth)


@both
def test_a_merged_counter_goes_on_counting(make: Any) -> None:
    rng = np.random.default_rng(9)
    parts = [make(0.1, 500) for _ in range(3)]
    ticks = [np.sort(rng.integers(0, 400, 900)) for _ in parts]
    for part, own in zip(parts, ticks, strict=True):
        part.update(ticks=own)
    merged = type(parts[0]).merge_all(parts)
    more = np.sort(rng.integers(merged.window.newest, 900, 2000))
    merged.update(ticks=more)
    every = np.concatenate([*ticks, more])
    for span in range(1, 501, 9):
        truth = int((every > merged.window.newest - span).sum())
        assert merged.bound(span).holds(truth)
        assert abs(merged.estimate(span) - truth) <= merged.worst_error * truth


@both
def test_windows_that_count_arrivals_are_not_merged(make: Any) -> None:
    """Figure 2 of the paper: the last 100 arrivals of both streams may hold anything from one to nine true bits."""
    first, second = (make(0.5, 1000, basis="count") for _ in range(2))
    first.update([0] * 499 + [1] + [0] * 499 + [1])
    second.update(np.isin(np.arange(1, 1001), [900, 950, 980, 990, 1000]).astype(np.int64))
    with pytest.raises(ValueError, match=r"basis: windows that count arrivals cannot be merged.*Use basis 'time'"):
        first.merge(second)


def test_nothing_cannot_be_merged() -> None:
    with pytest.raises(ValueError, match="parts: at least one"):
        ExponentialHistogram.merge_all([])
    with pytest.raises(ValueError, match="error: "):
        ExponentialHistogram.merge_all([half_error(1, 1), ExponentialHistogram.for_error(0.1, 1000)])
