"""When a promise with a probability has been broken too often."""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from random import Random

import pytest

from monitoring_lib.answers import Verdicts
from monitoring_lib.promises import CHANCE, broken_shares, most_broken


def verdicts(*found: tuple[bool, float]) -> Verdicts:
    same = {"node": "a", "tick": 0, "key": "", "promise": "some", "exact": 0, "error": 0, "allowed": 0}
    kept, confidence = [pair[0] for pair in found], [pair[1] for pair in found]
    return Verdicts.columns(len(found), {**same, "kept": kept, "confidence": confidence})


Draw = Callable[[Random, int, float, float], list[Verdicts]]


def runs(rng: Random, count: int, confidence: float, broken: float) -> list[Verdicts]:
    """Runs of independent epochs, each of which breaks with this probability."""
    return [verdicts(*((rng.random() >= broken, confidence) for _ in range(8))) for _ in range(count)]


def correlated(rng: Random, count: int, confidence: float, broken: float) -> list[Verdicts]:
    """Runs in which one draw of a hash decides all epochs: all kept, or all broken."""
    return [verdicts(*[(rng.random() >= broken, confidence)] * 8) for _ in range(count)]


def is_broken(found: list[Verdicts], confidence: float) -> bool:
    shares = broken_shares(found)[confidence]
    return sum(shares) > most_broken(len(shares), confidence)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("draw", [runs, correlated])
def test_a_promise_that_is_kept_as_often_as_it_says_passes(draw: Draw, confidence: float) -> None:
    for seed in range(3):
        assert not is_broken(draw(Random(seed), 200, confidence, 1 - confidence), confidence)


@pytest.mark.parametrize("draw", [runs, correlated])
def test_a_fair_coin_that_is_promised_to_be_fair_passes_over_any_number_of_runs(draw: Draw) -> None:
    for count in (1, 2, 12, 200):
        for seed in range(3):
            assert not is_broken(draw(Random(seed), count, 0.5, 0.5), 0.5)


def test_one_that_breaks_twice_as_often_as_promised_over_200_runs_is_caught() -> None:
    for seed in range(3):
        assert is_broken(runs(Random(seed), 200, 0.9, 0.2), 0.9)


def test_where_one_draw_decides_a_whole_run_three_times_as_often_is_caught() -> None:
    for seed in range(3):
        assert is_broken(correlated(Random(seed), 200, 0.9, 0.3), 0.9)


def test_one_that_always_breaks_is_caught_after_few_runs() -> None:
    broken = [verdicts((False, 0.95)) for _ in range(6)]
    assert is_broken(broken, 0.95)
    assert not is_broken([verdicts((False, 0.5))], 0.5), "one throw of a fair coin says nothing"


def test_a_run_counts_by_its_share_whatever_its_length() -> None:
    long, short = verdicts(*[(False, 0.9)] * 5, *[(True, 0.9)] * 15), verdicts((True, 0.9))
    assert broken_shares([long, short]) == {0.9: [0.25, 0.0]}


def test_every_confidence_is_counted_by_itself_and_certain_ones_not_at_all() -> None:
    mixed = verdicts((False, 1.0), (False, 0.9), (True, 0.9), (True, 0.5))
    assert broken_shares([mixed, verdicts((False, 1.0)), verdicts()]) == {0.9: [0.5], 0.5: [0.0]}


def test_more_runs_allow_more_but_a_smaller_part_of_them() -> None:
    bounds = [most_broken(count, 0.9) for count in (10, 100, 1000, 10_000)]
    assert bounds == sorted(bounds)
    parts = [bound / count for bound, count in zip(bounds, (10, 100, 1000, 10_000), strict=True)]
    assert parts == sorted(parts, reverse=True)
    assert 0.1 < parts[-1] < 0.12


def test_the_bound_is_passed_by_chance_no_more_often_than_it_says() -> None:
    """By the exact distribution, computed here from binomial coefficients."""
    for count, confidence in ((12, 0.9), (50, 0.95), (200, 0.9)):
        broken = 1 - confidence
        weights = [comb(count, k) * broken**k * confidence ** (count - k) for k in range(count + 1)]
        bound = int(most_broken(count, confidence))
        assert sum(weights[bound + 1 :]) <= CHANCE < sum(weights[bound:])
