"""Top-k as a question: the truth, the promise, and a judge who says so when an answer is wrong."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pydantic import ValidationError

from monitoring_lib.answers import Answer, Answers, Verdict
from monitoring_lib.epochs import Window
from monitoring_lib.errors import DataError
from monitoring_lib.item_counts import ItemCounts
from monitoring_lib.methods import Ask, Moment, NoOptions
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.topk.question import TopK, TopKParams, TopKTruth, ranked, refuse_negative, tolerance_of
from monitoring_lib.summaries import Cell, Measure, Rows
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.topology import Star

NOTHING = Counts()


def ask(window: Window | None = None, scale: int = 1, **params: Any) -> Ask:
    return Ask(TopKParams(**{"k": 2, **params}), NoOptions(), window or Window(), scale)


def at(epoch: int = 0, period: int = 0, missing: str = "", sites: str = "ab", owed: bool = False) -> Moment:
    names = tuple(sites)
    return Moment(epoch, 10 * epoch, 10 * epoch + 10, period, Star(names), names, frozenset(missing), owed)


def counts(**sums: int) -> Counts:
    return Counts.of_pairs(sums.items())


def truth_of(asked: Ask, **sums: int) -> TopKTruth:
    truth = TopK().truth(asked)
    assert isinstance(truth, TopKTruth)
    truth.observe(at(), "a", counts(**sums), NOTHING)
    return truth


def rows(*names: str, low: float = 0, high: float = 1e9, estimate: float = 0) -> Answers:
    return Answers.of(Answer(COORDINATOR, 10, name, rank, estimate, low, high) for rank, name in enumerate(names, 1))


def set_verdict(truth: TopKTruth, answers: Answers, moment: Moment | None = None) -> Verdict:
    (verdict,) = [v for v in truth.judge(moment or at(), answers) if v.promise == "set within tolerance"]
    return verdict


def row_verdict(truth: TopKTruth, row: Answer) -> Verdict:
    (verdict,) = [v for v in truth.judge(at(), Answers.of([row])) if v.promise == "total within bounds"]
    return verdict


# Parameters, promise, summary


@pytest.mark.parametrize(
    "wrong", [{"k": 0}, {"k": -1}, {"tolerance": -1}, {"order": "biggest"}, {"size": 3}, {"k": "many"}]
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        TopKParams(**{"k": 2, **wrong})


@pytest.mark.parametrize(("tolerance", "words"), [("0", "0"), ("50", "50"), ("1E+2", "100"), ("0.50", "0.5")])
def test_the_promise_is_said_in_the_measures_unit(tolerance: str, words: str) -> None:
    assert TopK().promise(ask(tolerance=Decimal(tolerance))) == f"valid within {words} (always)"


def test_the_tolerance_meets_data_in_whole_scaled_units_rounded_down() -> None:
    assert tolerance_of(ask(tolerance=Decimal("7.5"))) == 7
    assert tolerance_of(ask(tolerance=Decimal("7.59"), scale=10)) == 75
    assert tolerance_of(ask(tolerance=Decimal("0.1"), scale=10)) == 1


def test_the_summary_is_the_exact_counts_by_item() -> None:
    summed = replace(ask(), measure=Measure("sum", "value"))
    assert TopK().exact(summed) == ItemCounts(Measure("sum", "value")) != TopK().exact(ask())
    summary, cell = TopK().exact(summed), Cell("a", 0, 0, 10, 10)
    assert (summary.keys, str(summary.measure)) == (("item",), "sum(value)")
    found = Rows({"item": pa.array(["a", "b", "none"])}, pa.array([-1, 2, 0]), pa.array([1, 1, 2]))
    assert list(summary.build(cell, found)) == [("a", -1), ("b", 2)]
    assert list(summary.empty(cell)) == []


# Ranking


def test_the_largest_are_ranked_by_sum_then_name_and_only_above_zero() -> None:
    sums = {"c": 5, "a": 5, "b": 9, "zero": 0, "below": -3}
    assert ranked(sums, ask(k=2)) == [("b", 9), ("a", 5)]
    assert ranked(sums, ask(k=9)) == [("b", 9), ("a", 5), ("c", 5)]


def test_the_smallest_are_ranked_from_below_and_zero_counts() -> None:
    sums = {"c": 5, "a": 5, "zero": 0, "below": -3}
    assert ranked(sums, ask(k=3, order="smallest", signed=True)) == [("below", -3), ("zero", 0), ("a", 5)]


# The truth


def test_the_truth_sums_over_sites_and_epochs() -> None:
    truth = truth_of(ask(), x=9, y=1)
    truth.observe(at(), "b", counts(x=1, z=4), NOTHING)
    truth.observe(at(1), "a", counts(y=1), NOTHING)
    assert truth.sums == {"x": 10, "y": 2, "z": 4}


def test_a_reset_forgets_even_in_an_epoch_without_events() -> None:
    truth = truth_of(ask(Window(reset=1)), x=9)
    assert set_verdict(truth, rows(), at(1, period=1)).kept
    assert truth.sums == {}


def test_what_leaves_the_window_is_taken_off() -> None:
    truth = truth_of(ask(Window(length=1)), x=9, y=1)
    truth.observe(at(1), "a", counts(y=1), counts(x=9, y=1))
    assert truth.sums == {"y": 1}


def test_named_items_stay_candidates_for_the_smallest_at_zero() -> None:
    truth = truth_of(ask(Window(length=1), k=1, order="smallest"), x=9, y=1)
    truth.observe(at(1), "a", NOTHING, counts(x=9, y=1))
    assert truth.sums == {"x": 0, "y": 0}
    assert set_verdict(truth, rows("x"), at(1)).kept


def test_a_missing_site_counts_with_what_it_last_observed() -> None:
    truth = truth_of(ask(k=1), x=9)
    moment = at(1, missing="a")
    truth.observe(moment, "b", counts(y=5), NOTHING)
    assert set_verdict(truth, rows("x"), moment).kept
    assert not set_verdict(truth, rows("y"), moment).kept


# The judge on sets


def test_the_exact_set_is_kept() -> None:
    verdict = set_verdict(truth_of(ask(), x=9, y=4, z=1), rows("x", "y"))
    assert verdict == Verdict(COORDINATOR, 10, "", "set within tolerance", 4, 0, 0, True)


def test_an_outsider_beyond_the_tolerance_breaks_the_promise() -> None:
    truth = truth_of(ask(tolerance=5), x=19, y=10, z=5, w=4)
    assert set_verdict(truth, rows("x", "z")).kept, "10 exceeds 5 by the tolerance, no more"
    verdict = set_verdict(truth, rows("x", "w"))
    assert (verdict.kept, verdict.error, verdict.allowed, verdict.exact) == (False, 6, 5, 10)


def test_ties_may_be_broken_either_way() -> None:
    truth = truth_of(ask(), x=9, y=4, z=4)
    assert set_verdict(truth, rows("x", "y")).kept
    assert set_verdict(truth, rows("x", "z")).kept


def test_an_answer_that_is_too_short_is_wrong_if_what_it_lacks_exceeds_the_tolerance() -> None:
    assert not set_verdict(truth_of(ask(tolerance=3), x=9, y=4), rows("x")).kept
    assert set_verdict(truth_of(ask(tolerance=4), x=9, y=4), rows("x")).kept
    assert not set_verdict(truth_of(ask(), x=9), rows()).kept
    assert set_verdict(truth_of(ask()), rows()).kept


def test_an_item_twice_or_one_too_many_is_wrong_whatever_the_tolerance() -> None:
    truth = truth_of(ask(tolerance=1000), x=9, y=4, z=1)
    assert not set_verdict(truth, rows("x", "x")).kept
    assert not set_verdict(truth, rows("x", "y", "z")).kept


def test_a_name_that_nobody_used_counts_zero_among_the_largest() -> None:
    assert not set_verdict(truth_of(ask(), x=9, y=4), rows("x", "nobody")).kept
    assert set_verdict(truth_of(ask(), x=9), rows("x", "nobody")).kept


def test_a_member_below_zero_is_worse_than_a_name_nobody_used() -> None:
    assert not set_verdict(truth_of(ask(signed=True), x=9, y=-1), rows("x", "y")).kept
    assert set_verdict(truth_of(ask(signed=True, tolerance=1), x=9, y=-1), rows("x", "y")).kept


def test_the_smallest_are_judged_the_other_way_round_and_must_be_complete() -> None:
    truth = truth_of(ask(order="smallest", signed=True, tolerance=1), x=9, y=4, z=-2, w=5)
    assert set_verdict(truth, rows("z", "y")).kept
    assert set_verdict(truth, rows("z", "w")).kept
    assert not set_verdict(truth, rows("z", "x")).kept
    assert not set_verdict(truth, rows("z")).kept
    assert not set_verdict(truth, rows()).kept


def test_a_name_that_nobody_used_is_never_among_the_smallest() -> None:
    truth = truth_of(ask(k=1, order="smallest", tolerance=1000), x=9, y=4)
    assert not set_verdict(truth, rows("nobody")).kept


def test_scaled_sums_are_judged_in_the_measures_unit() -> None:
    truth = truth_of(ask(k=1, scale=100, tolerance=Decimal("0.5")), x=900, y=850, z=849)
    assert set_verdict(truth, rows("y")).kept
    verdict = set_verdict(truth, rows("z"))
    assert (verdict.kept, verdict.error, verdict.allowed, verdict.exact) == (False, 0.51, 0.5, 9.0)


@pytest.mark.parametrize("seed", range(20))
def test_the_judge_agrees_with_the_definition_on_every_possible_set(seed: int) -> None:
    rng = Random(seed)
    order = rng.choice(["largest", "smallest"])
    asked = ask(k=rng.randint(1, 3), tolerance=rng.randint(0, 4), order=order, signed=True)
    sums = {name: rng.choice([-3, -1, 1, 2, 2, 5, 8]) for name in "pqrst"}
    truth, sign = truth_of(asked, **sums), 1 if order == "largest" else -1
    for size in range(asked.params.k + 2):
        for members in combinations(sums, size):
            inside = [sign * sums[name] for name in members]
            outside = [sign * total for name, total in sums.items() if name not in members]
            if order == "largest":
                inside, outside = inside + [0] * (asked.params.k - size), [*outside, 0]
            whole = size <= asked.params.k if order == "largest" else size == asked.params.k
            valid = whole and all(t + asked.params.tolerance >= s for t in inside for s in outside)
            assert set_verdict(truth, rows(*members)).kept == valid, members


# The judge on totals


def test_totals_must_lie_within_their_bounds() -> None:
    truth = truth_of(ask(k=1), x=9)
    assert row_verdict(truth, Answer(COORDINATOR, 10, "x", 1, 8, 7, 9)).kept
    assert row_verdict(truth, Answer(COORDINATOR, 10, "x", 1, 8, 7, 9)).error == 1
    assert row_verdict(truth, Answer(COORDINATOR, 10, "x", 1, 8, 7, 9)).allowed == 1
    assert not row_verdict(truth, Answer(COORDINATOR, 10, "x", 1, 8, 7, 8.99)).kept
    assert not row_verdict(truth, Answer(COORDINATOR, 10, "x", 1, 10, 9.01, 11)).kept


def test_exact_bounds_of_scaled_sums_survive_the_division() -> None:
    truth = truth_of(ask(k=1, scale=100), x=10**15 + 7)
    exact = (10**15 + 7) / 100
    assert row_verdict(truth, Answer(COORDINATOR, 10, "x", 1, exact, exact, exact)).kept


# Answers that are partial because sites are missing


@pytest.mark.parametrize("moment", [at(missing="b"), at(owed=True), at(missing="b", owed=True)])
def test_data_that_is_missing_excuses_the_set_of_a_partial_answer(moment: Moment) -> None:
    truth = truth_of(ask(k=1, tolerance=1), x=9, y=4)
    assert not set_verdict(truth, rows("y"), moment).kept, "whole rows claim to lack nothing"
    verdict = set_verdict(truth, rows("y").as_partial(), moment)
    assert (verdict.kept, verdict.error, verdict.allowed) == (True, 5, float("inf"))


def test_a_partial_answer_has_no_more_than_k_members_each_once() -> None:
    truth, moment = truth_of(ask(k=2, tolerance=1), x=9, y=4, z=1), at(missing="b")
    assert not set_verdict(truth, rows("y", "y").as_partial(), moment).kept
    assert not set_verdict(truth, rows("x", "y", "z").as_partial(), moment).kept


def test_the_totals_of_a_partial_answer_must_lie_within_their_bounds() -> None:
    truth, moment = truth_of(ask(k=1), x=9), at(missing="b")
    for high, kept in ((9, True), (8.99, False)):
        verdicts = list(truth.judge(moment, rows("x", high=high).as_partial()))
        assert [verdict.kept for verdict in verdicts] == [True, kept]


def test_nothing_excuses_a_partial_answer_where_nothing_is_missing() -> None:
    truth = truth_of(ask(k=1, tolerance=1), x=9, y=4)
    assert not set_verdict(truth, rows("x").as_partial()).kept


def test_a_sum_below_zero_is_refused_unless_the_monitor_expects_it() -> None:
    with pytest.raises(DataError, match=r"site 'Oslo': the sum of item 'x' fell to -0\.05; say `signed: true`"):
        refuse_negative(ask(scale=100), "Oslo", "x", -5)
    refuse_negative(ask(signed=True), "Oslo", "x", -5)
    refuse_negative(ask(), "Oslo", "x", 0)
