"""What is published: rows, bounds, confidence; resets; changes of a monitor; what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from pydantic import ValidationError

from monitoring_lib.epochs import Window
from monitoring_lib.methods import Method, Moment
from monitoring_lib.network import COORDINATOR
from monitoring_lib.promises import most_broken
from monitoring_lib.protocols.duplication import intervals
from monitoring_lib.protocols.duplication.methods import Exact, GlobalCounts, LazyCounts, LocalCounts
from monitoring_lib.protocols.duplication.question import Asked, Duplication, DuplicationParams
from monitoring_lib.topology import Star
from tests.protocols.duplication.driver import SampleWatch, ask_of

EVERY = [LocalCounts, GlobalCounts, LazyCounts, Exact]
every_method = pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.name)


@every_method
def test_no_rows_while_nothing_has_happened(kind: type[Method]) -> None:
    watch = SampleWatch(kind, sites=["a"])
    assert watch.step({}) == {}
    assert all(verdict.kept for verdict in watch.verdicts)


@every_method
def test_while_all_items_fit_numbers_and_shares_are_exact(kind: type[Method]) -> None:
    watch = SampleWatch(kind)
    rows = watch.step({"a": ["x"] * 100 + ["y", "longer"], "b": ["y", "z"]})
    assert {key: (row.low, row.estimate, row.high) for key, row in rows.items() if not key.startswith("q")} == {
        "distinct": (4, 4, 4), "once": (2, 2, 2), "share:short": (0.75, 0.75, 0.75)
    }  # fmt: skip
    assert {row.confidence for row in rows.values()} == {1.0}
    assert rows["q0.5"].low <= 1 <= rows["q0.5"].high
    assert rows["q0.9"].low <= 100 <= rows["q0.9"].high <= 110


@every_method
def test_a_reset_starts_anew(kind: type[Method]) -> None:
    watch = SampleWatch(kind, window=Window(reset=2))
    for _ in range(2):
        watch.step({"a": [str(number) for number in range(100)]})
    rows = watch.step({"b": ["x"]})
    assert (rows["distinct"].estimate, rows["once"].estimate, rows["distinct"].confidence) == (1, 1, 1.0)
    assert all(verdict.kept for verdict in watch.verdicts if verdict.confidence == 1)


@every_method
def test_events_of_a_missing_site_are_owed_and_rows_are_partial(kind: type[Method]) -> None:
    watch = SampleWatch(kind)
    watch.step({"a": ["x"], "b": ["y"]})
    rows = watch.step({"a": ["z"], "b": ["w"]}, missing=["b"])
    assert all(row.partial for row in rows.values())
    assert rows["distinct"].estimate == 3
    assert all(verdict.kept for verdict in watch.verdicts)


def test_bounds_hold_as_often_as_they_say_over_many_seeds() -> None:
    runs, broken = 60, 0.0
    for seed in range(runs):
        rng = Random(7)
        watch = SampleWatch(LocalCounts, sample=50, seed=seed)
        for _ in range(6):
            watch.step({site: [str(int(rng.paretovariate(0.3)) % 3000) for _ in range(150)] for site in "abc"})
        probable = [verdict.kept for verdict in watch.verdicts if verdict.confidence < 1]
        broken += probable.count(False) / len(probable)
    assert broken <= most_broken(runs, 0.95)


@pytest.mark.parametrize(("confidence", "fullest"), [(0.95, 1.0), (0.99, 1.3)])
def test_a_high_confidence_keeps_the_sample_fuller_and_the_width_the_same(confidence: float, fullest: float) -> None:
    runs, broken, filled, levels = 20, 0.0, [], []
    for seed in range(runs):
        watch = SampleWatch(LocalCounts, sample=100, seed=seed, confidence=confidence)
        for epoch in range(4):
            watch.step({site: [f"{epoch}/{number}" for number in range(100 << epoch)] for site in "ab"})
            filled.append(len(watch.sample) / 100)
        widths = [verdict for verdict in watch.verdicts if verdict.promise == "no wider than"]
        assert all(verdict.kept and verdict.allowed == pytest.approx(0.6) for verdict in widths)
        held = [verdict.kept for verdict in watch.verdicts if verdict.promise == "within bounds"]
        broken += held.count(False) / len(held)
        levels.append(watch.coordinator.level)
    assert broken <= most_broken(runs, confidence)
    assert fullest * 0.6 < np.mean(filled) < 1
    assert min(levels) > 3


@pytest.mark.parametrize(("items", "share"), [(30, 0.3), (90, 0.02), (400, 0.5)])
def test_intervals_of_numbers_and_shares_cover_as_often_as_they_say(items: int, share: float) -> None:
    rng, capacity, runs = np.random.default_rng(items), 25, 400
    missed = {"number": 0, "share": 0}
    satisfying = round(items * share)
    for _ in range(runs):
        levels, level = rng.geometric(0.5, items) - 1, 0
        while np.count_nonzero(levels >= level) > capacity:
            level += 1
        sampled = np.flatnonzero(levels >= level)
        low, high = intervals.number(len(sampled), 0.5**level, 0.95)
        missed["number"] += not low <= items <= high
        low, high = intervals.share(int(np.count_nonzero(sampled < satisfying)), len(sampled), 0.5**level, 0.95)
        missed["share"] += not low <= satisfying / items <= high
    assert max(missed.values()) <= most_broken(runs, 0.95)


def test_ranks_of_a_quantile_leave_no_more_than_half_the_failure_on_either_side() -> None:
    from scipy.stats import binom

    for quantile in (0.01, 0.5, 0.9, 0.99):
        for sampled in (1, 7, 40, 500):
            low, high = intervals.ranks(quantile, sampled, 0.95)
            assert binom.cdf(low - 1, sampled, quantile) <= 0.025
            assert high == sampled + 1 or binom.sf(high - 1, sampled, quantile) <= 0.025
            assert low <= intervals.rank_of(quantile, sampled) <= high


def test_a_bound_is_never_wider_than_promised_and_still_holds_the_estimate() -> None:
    low, high = intervals.narrowed(10.0, 2.0, 30.0, 14.0)
    assert (low, high) == (6.0, 20.0)
    assert intervals.widest(900, 0.95) == pytest.approx(0.2)
    assert intervals.widest(900, 0.8) == pytest.approx(0.2)
    assert intervals.widest(900, 0.996) == pytest.approx(0.2)
    assert intervals.widest(900, 0.9999) > 0.2


def test_the_judge_notices_wrong_numbers_missing_rows_and_wide_bounds() -> None:
    watch = SampleWatch(Exact)
    watch.step({"a": ["x", "x", "y"]})
    witness = watch.replay._landed["exact"].truth
    moment = replace(watch.replay._moments(1, frozenset())["exact"], epoch=1)
    good = [replace(row, tick=moment.end) for row in watch.rows.values()]
    judge = type(watch.replay._networks["exact"].inner.answers())

    def kept(rows: list) -> bool:
        return all(verdict.kept for verdict in witness.judge(moment, judge.of(rows)))

    assert kept(good)
    assert not kept(good[1:])
    assert not kept([*good, good[0]])
    assert not kept([replace(good[0], estimate=3.0, high=3.0, low=3.0), *good[1:]])
    assert not kept([replace(good[0], low=0.0, high=9.0), *good[1:]])
    assert not kept([replace(good[0], rank=1), *good[1:]])


def test_a_changed_lag_or_ask_goes_on_and_a_larger_sample_or_another_seed_does_not() -> None:
    now = LocalCounts(ask_of(LocalCounts, sample=50))
    assert now.continues(ask_of(LocalCounts, sample=50, lag="0.7"))
    assert now.continues(ask_of(LocalCounts, sample=80, asked=Asked(once=True)))
    assert not now.continues(ask_of(LocalCounts, sample=40))
    assert not now.continues(ask_of(LocalCounts, sample=50, seed=1))
    assert not now.continues(ask_of(LocalCounts, sample=50, window=Window(reset=3)))
    assert now.continues(ask_of(LocalCounts, sample=50, confidence=0.8))
    assert not now.continues(ask_of(LocalCounts, sample=50, confidence=0.99))  # its levels are in finer steps


@pytest.mark.parametrize(("confidence", "one_in"), [(0.95, "8"), (0.99, "2")])
def test_the_certificate_says_what_part_of_the_items_is_sampled(confidence: float, one_in: str) -> None:
    role = LocalCounts(ask_of(LocalCounts, sample=50, confidence=confidence)).inner
    assert role is not None
    state = role.start(COORDINATOR)
    state.level = 3
    moment = Moment(0, 0, 1, 0, Star(("north",)), ("north",))
    assert f"one in {one_in} is" in role.certificate(state, moment)


@pytest.mark.parametrize("kind", EVERY[:3], ids=lambda kind: kind.name)
def test_after_the_lag_was_made_smaller_counts_are_told_that_did_not_change(kind: type[Method]) -> None:
    watch = SampleWatch(kind, lag="0.9")
    watch.step({"a": ["v"] * 100, "b": ["w"]})
    watch.step({"a": ["v"] * 40})
    assert watch.sample["v"] == 100
    after = kind(ask_of(kind, lag="0.1"))
    network = watch.replay._networks[kind.name]
    network.method = network.sites.method = network.inner.method = after
    watch.step({"b": ["x"]})
    assert watch.sample["v"] == 140


@pytest.mark.parametrize(
    "wrong",
    [
        {"sample": 19},
        {"lag": 1},
        {"lag": -0.1},
        {"ask": {"quantiles": [0]}},
        {"ask": {"quantiles": [0.5, 0.5]}},
        {"ask": {"shares": {"s": "length(query) < 3"}}},
        {"ask": {"shares": {"s": "length(item) <"}}},
        {"ask": {"median": True}},
    ],
)
def test_what_cannot_be_asked_is_refused(wrong: dict) -> None:
    with pytest.raises(ValidationError):
        DuplicationParams(**wrong)


def test_a_monitor_that_asks_for_nothing_is_a_fault() -> None:
    (fault,) = Duplication().faults(ask_of(LocalCounts, asked=Asked()))
    assert fault.path == ("ask",)
    assert "sliding" not in Duplication.windows


def test_names_of_quantiles_are_as_python_prints_them() -> None:
    watch = SampleWatch(LocalCounts, asked=Asked(quantiles=(0.1, 0.25, 1)))
    assert list(watch.step({"a": ["x"]})) == ["q0.1", "q0.25", "q1"]
    assert math.isclose(watch.rows["q1"].estimate, 1)
