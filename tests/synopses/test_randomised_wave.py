"""The randomised wave: its coins, its promise over many seeds, and merges that lose nothing."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom

from monitoring_lib.codec import decode
from monitoring_lib.synopses.randomised_wave import RandomisedWave, entries_for
from tests.synopses.bulks import assert_bulk_equals_singles
from tests.synopses.twins import exact, streams

WINDOW = 10**6


def wave(coins: int, error: float = 0.3, confidence: float = 0.8, **more: str) -> RandomisedWave:
    return RandomisedWave.for_error(error, confidence, WINDOW, coins, **more)  # type: ignore[arg-type]


def test_a_tier_keeps_as_many_entries_as_the_text_says_and_a_little_more() -> None:
    """c / error ** 2 with c = 6 ln(2 / doubt), times 1 + error for the tier above."""
    assert entries_for(0.1, 0.05) == int(np.ceil(6 * np.log(40) / 0.1**2 * 1.1))


def test_every_tier_is_half_of_the_one_below_and_contained_in_it() -> None:
    counter = wave(3)
    counter.update(ticks=np.arange(100_000))
    entries = counter.counters.rings.shape[2]
    for below, above in pairwise(counter.counters.rings):
        newest = set(above[0, : min(entries, 100)]) - {0}
        oldest_below = below[0].min()
        assert {tick for tick in newest if tick > oldest_below} <= set(below[0])
    pushed = counter.counters.pushed[:, 0]
    assert all(abs(2 * above - below) <= 1 for below, above in pairwise(pushed))


@pytest.mark.parametrize("tier", [1, 2, 3])
def test_an_event_reaches_tier_l_with_probability_2_to_the_minus_l(tier: int) -> None:
    """2,000 seeds, the first event of each: five standard deviations of slack, which a probability that is off by half
    exceeds. With so many events the tier is the top one, which has lost none."""
    seeds, reached, probability = 2000, 0, 2.0**-tier
    for seed in range(seeds):
        counter = wave(seed, 0.9, 0.5)
        counter.update([1, 15 * 2**tier], ticks=[0, 1])
        assert len(counter.counters.rings) == tier + 1
        reached += counter.counters.rings[tier, 0, 0] == 0
    slack = 5 * np.sqrt(seeds * probability * (1 - probability))
    assert slack < seeds * probability / 2
    assert abs(reached - seeds * probability) <= slack


@pytest.mark.parametrize("name", streams(0))
def test_the_error_holds_for_every_range(name: str) -> None:
    """Of one wave: of a range only the blocks at its ends are in doubt, so that in practice it always holds."""
    weights, ticks = streams(2)[name]
    counter = wave(7)
    counter.update(weights, ticks=ticks)
    for span in [1, 2, 50, *np.random.default_rng(3).integers(1, 6000, 30).tolist()]:
        truth = exact((weights, ticks), counter.window.newest - span)
        assert abs(counter.estimate(span) - truth) <= 0.3 * truth
        assert counter.bound(span).holds(truth)


def test_the_error_holds_with_the_promised_probability_after_merges() -> None:
    """150 merges of 60 sites with few events each, where almost every coin matters; a promise of 0.8. More than 57
    misses have a probability below 1e-6 if it is kept; waves that missed every second time would be seen with
    probability 0.99. The mean deviation is 0 within five standard errors."""
    runs, sites, misses, deviations = 150, 60, 0, []
    assert binom.sf(57, runs, 0.2) < 1e-6
    assert binom.sf(57, runs, 0.5) > 0.99
    rng = np.random.default_rng(10)
    for run in range(runs):
        parts, ticks = [], rng.integers(0, 1000, (sites, 60))
        for site in range(sites):
            parts.append(wave(run * sites + site))
            parts[-1].update(ticks=np.sort(ticks[site]))
        merged = RandomisedWave.merge_all([RandomisedWave.merge_all(parts[:20]), *parts[20:]])
        truth = int((ticks > merged.window.newest - 700).sum())
        deviations.append((merged.estimate(700) - truth) / truth)
        misses += abs(deviations[-1]) > merged.worst_error
        assert merged.bound(700).holds(truth) == (abs(deviations[-1]) <= merged.worst_error)
    assert misses <= 57
    assert abs(np.mean(deviations)) <= 5 * np.std(deviations) / np.sqrt(runs)
    assert np.std(deviations) > 0.01  # the coins were put to the test


def test_the_error_holds_for_the_last_arrivals() -> None:
    rng = np.random.default_rng(4)
    bits = (rng.random(30_000) < rng.random(30_000)).astype(np.int64)
    counter = RandomisedWave.for_error(0.3, 0.8, 10_000, 5, basis="count")
    for batch in np.array_split(np.arange(len(bits)), 10):
        counter.update(bits[batch])
        for span in (1, 100, 3000, 10_000):
            truth = int(bits[: batch[-1] + 1][-span:].sum())
            assert abs(counter.estimate(span) - truth) <= 0.3 * truth


def test_a_bulk_is_its_single_events_to_the_byte() -> None:
    assert_bulk_equals_singles(lambda basis: wave(1, 0.9, 0.5, basis=basis), [1, 2, 7, 40, 1000], 60)


def test_a_bulk_of_any_size_is_counted_at_once() -> None:
    for basis in ("time", "count"):
        counter = wave(2, basis=basis)
        ticks = {"ticks": [1, 2, 3]} if basis == "time" else {}
        counter.update([3, 10**15, 5], **ticks)
        assert counter.estimate(1) == (5 if basis == "time" else 1)
        truth = 10**15 + 5 if basis == "time" else 1000
        assert abs(counter.estimate(2 if basis == "time" else 1000) - truth) <= 0.3 * truth


def test_merges_are_commutative_and_survive_storage() -> None:
    rng = np.random.default_rng(6)
    parts = [wave(coins) for coins in (11, 12, 13)]
    for part in parts:
        part.update(rng.integers(0, 50, 500), ticks=np.sort(rng.integers(0, 900, 500)))
    first, second, third = parts
    assert first.merge(second).to_bytes() == second.merge(first).to_bytes()
    restored = [decode(part.to_bytes(), RandomisedWave) for part in parts]
    assert RandomisedWave.merge_all(restored).to_bytes() == RandomisedWave.merge_all(parts).to_bytes()
    nested = first.merge(second).merge(third)
    truth = sum(part.window.arrived for part in parts)
    assert abs(nested.estimate(1000) - truth) <= 0.3 * truth
    nested.update([10**6], ticks=2000)
    assert abs(nested.estimate(1000) - 10**6) <= 0.3 * 10**6


def test_few_events_merge_without_loss() -> None:
    parts = [wave(coins) for coins in range(5)]
    for number, part in enumerate(parts):
        part.update(ticks=np.arange(number, 20 + number))
    merged = RandomisedWave.merge_all(parts)
    assert [merged.estimate(span) for span in (1, 2, 3, 30)] == [1, 3, 6, 100]


def test_equal_coins_and_other_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="coins: 4 twice; make every site's waves with coins of its own"):
        wave(4).merge(wave(4))
    waves = [wave(3), wave(4), wave(4)]
    for each in waves:
        each.update(ticks=[1])
    with pytest.raises(ValueError, match="coins: the same twice"):
        RandomisedWave.merge_all(waves)
    with pytest.raises(ValueError, match=r"promised_error: 0\.3 against 0\.2"):
        wave(4).merge(wave(5, 0.2))
    with pytest.raises(ValueError, match="confidence: 1"):
        RandomisedWave.for_error(0.1, 1, 10, 1)
