"""Widths: rows of the queries, waterfilling, the paper's burdens, hulls of rate curves."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from monitoring_lib.protocols.aggregates.allocation import fitted, grow, uniform, waterfill
from monitoring_lib.protocols.aggregates.curves.programme import cheapest, expected, lower_hull
from monitoring_lib.protocols.aggregates.filters import cut_runs
from monitoring_lib.protocols.aggregates.fixed.optimised import best_for_walks
from monitoring_lib.protocols.aggregates.shrinking.policies import deviations
from monitoring_lib.protocols.aggregates.terms import UNBOUNDED, UNIT, FirstWidths, Term, WidthConstraints, tightened


def rows_of(rng: Random, objects: int, queries: int) -> WidthConstraints:
    names = [str(number) for number in range(objects)]
    terms = []
    for number in range(queries):
        weights = {name: rng.choice([-3, 1, 1, 2]) for name in rng.sample(names, rng.randint(1, objects))}
        ask = rng.choice(["sum", "sum", "avg", "min"])
        weights = weights if ask == "sum" else dict.fromkeys(weights, 1)
        terms.append(
            Term(str(number), ask, weights, rng.choice([1, 4]) if ask == "sum" else 1, Fraction(rng.randint(0, 99), 4))
        )
    return WidthConstraints.of(terms, names)


def test_rows_of_the_example_of_two_overlapping_sums() -> None:
    terms = [
        Term("one", "sum", {"a": 1, "b": 1}, precision=Fraction(10)),
        Term("two", "sum", {"b": 1, "c": 1, "d": 1}, precision=Fraction(6)),
        Term("low", "min", {"e": 1}, precision=Fraction(3)),
        Term("n", "count", None),
    ]
    rows = WidthConstraints.of(terms, ["a", "b", "c", "d", "e", "f"])
    unit = (waterfill(rows, UNIT) // UNIT).tolist()
    assert unit == [8, 2, 2, 2, 3, UNBOUNDED // UNIT]  # b, c, d fill their row at 2; a takes what b leaves
    assert (uniform(rows)[:5] // UNIT).tolist() == [5, 2, 2, 2, 3]


def test_what_is_left_over_is_handed_out_step_by_step() -> None:
    rows = WidthConstraints.of([Term("x", "sum", {"a": 1, "b": 1, "c": 1}, precision=Fraction(11))], ["a", "b", "c"])
    assert (waterfill(rows, UNIT) // UNIT).tolist() == [4, 4, 3]
    assert (waterfill(rows, 2 * UNIT) // UNIT).tolist() == [4, 4, 2]


@pytest.mark.parametrize("seed", range(40))
def test_widths_keep_every_row_and_waterfilled_ones_are_never_below_uniform(seed: int) -> None:
    rng = Random(seed)
    rows = rows_of(rng, rng.randint(1, 9), rng.randint(1, 7))
    even, filled = uniform(rows), waterfill(rows, UNIT)
    rest = np.array([rng.randint(1, 10**6) for _ in filled], float)
    random = np.array([rng.randint(0, 40 * UNIT) for _ in filled], np.int64)
    order = rng.sample(range(len(filled)), len(filled))
    kept = fitted(rows, random)
    for widths in (even, filled, kept, grow(rows, kept, order), best_for_walks(rows, rest, UNIT)):
        assert (rows.left(widths) >= 0).all()
        assert (widths <= rows.caps).all()
        assert (widths >= 0).all()
    assert (filled >= even // UNIT * UNIT).all()
    left = rows.left(filled)
    for at in np.flatnonzero(rows.bound_objects):  # nobody could have one quantum more
        its = rows.weights[:, at] > 0
        room = (left[its] >= rows.weights[its, at] * UNIT).all() and rows.caps[at] - filled[at] >= UNIT
        assert not room


def test_starting_widths_are_sound_whoever_takes_part() -> None:
    terms = [
        Term("s", "sum", {"a": 3, "b": 1}, precision=Fraction(8)),
        Term("m", "avg", None, precision=Fraction(5)),
        Term("x", "max", {"b": 1}, precision=Fraction(1)),
    ]
    assert FirstWidths.of(terms).widths(["a", "b", "c"]) == [2 * UNIT, UNIT, 5 * UNIT]
    everything = Term("all", "sum", None, precision=Fraction(9))
    assert FirstWidths.of([*terms, everything]).widths(["a"]) == [0]


def test_a_tighter_sum_over_all_narrows_in_proportion_and_a_new_one_to_nothing() -> None:
    old = Term("all", "sum", None, precision=Fraction(9))
    new = Term("all", "sum", None, precision=Fraction(3))
    widths = np.array([30, 7], np.int64)
    assert tightened(widths, ["a", "b"], {"all": old.agreement}, [new]).tolist() == [10, 2]
    assert tightened(widths, ["a", "b"], {"all": new.agreement}, [old]).tolist() == [30, 7]
    assert tightened(widths, ["a", "b"], {}, [old]).tolist() == [0, 0]


def test_the_best_widths_for_walks_of_one_row_grow_with_the_cube_root() -> None:
    rows = WidthConstraints.of([Term("x", "sum", {"a": 1, "b": 1}, precision=Fraction(900))], ["a", "b"])
    widths = best_for_walks(rows, np.array([8.0, 1.0]), UNIT)
    assert abs(widths[0] - 2 * widths[1]) <= 3 * UNIT


def test_burdens_of_one_query_deviate_from_their_mean() -> None:
    rows = WidthConstraints.of([Term("x", "sum", {"a": 1, "b": 1, "c": 1}, precision=Fraction(9))], ["a", "b", "c"])
    needs = deviations(rows, np.ones(3), np.array([6, 3, 0]), np.array([UNIT] * 3), 10)
    assert needs == pytest.approx([0.3 / UNIT, 0, 0])
    urgent = deviations(rows, np.ones(3), np.array([6, 1, 0]), np.array([UNIT, 0, UNIT]), 10)
    assert urgent[1] == np.inf


def test_the_lower_hull_is_convex_and_below_all_points() -> None:
    rng = Random(2)
    for _ in range(50):
        widths = np.cumsum([0, *(rng.randint(1, 9) for _ in range(12))]).astype(float)
        rates = np.sort(np.array([rng.random() for _ in widths]))[::-1]
        corners, heights = lower_hull(widths, rates)
        assert (np.interp(widths, corners, heights) <= rates + 1e-12).all()
        assert (np.diff(np.diff(heights) / np.diff(corners)) >= -1e-12).all()


def test_the_programme_gives_width_to_the_object_that_gains_by_it() -> None:
    rows = WidthConstraints.of([Term("x", "sum", {"a": 1, "b": 1}, precision=Fraction(20))], ["a", "b"])
    steep = np.array([0.0, 10.0, 20.0]), np.array([1.0, 0.5, 0.0])
    flat = np.array([0.0, 10.0, 20.0]), np.array([0.1, 0.09, 0.08])
    widths = cheapest(rows, [steep, flat], np.ones(2), UNIT)
    assert widths is not None
    assert (widths // UNIT).tolist() == [20, 0]
    assert expected([steep, flat], np.ones(2), widths) == pytest.approx(0.1)


def test_runs_are_the_fewest_that_cover_every_tick() -> None:
    rng = Random(4)
    for _ in range(60):
        ticks, width = rng.randint(1, 9), rng.randint(0, 6)
        values = [rng.randint(0, 9) for _ in range(ticks)]
        none = np.zeros(1, np.int64)
        places, at, centres = cut_runs(
            np.array([values], np.int64), none, np.zeros(1, bool), none.copy(), np.array([width], np.int64)
        )
        fewest = [0] * (ticks + 1)
        for end in range(1, ticks + 1):
            fits = [s for s in range(end) if max(values[s:end]) - min(values[s:end]) <= width]
            fewest[end] = 1 + min(fewest[start] for start in fits)
        assert len(places) == fewest[ticks]
        for tick, value in enumerate(values):
            centre = [c for start, c in zip(at, centres, strict=True) if start <= tick][-1]
            low = (centre - width) >> 1
            assert low <= value <= low + width
