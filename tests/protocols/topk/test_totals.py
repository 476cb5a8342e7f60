"""The key `totals`: published totals are known within a share of themselves; sites are polled where they are not."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pydantic import ValidationError

from benchmarks._topk_traces import TRACES
from monitoring_lib.answers import Answer, Answers
from monitoring_lib.epochs import Window
from monitoring_lib.methods import Moment
from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.topk.caching import Caching
from monitoring_lib.protocols.topk.constraints import Constraints
from monitoring_lib.protocols.topk.family import TopKMethod
from monitoring_lib.protocols.topk.margins import Margins
from monitoring_lib.protocols.topk.methods import METHODS
from monitoring_lib.protocols.topk.question import TopK, TopKParams, within_share
from monitoring_lib.states import keep, mark
from monitoring_lib.topology import Star
from tests.protocols.topk.driver import Run, ask_for, draw_scenario, run_scenario
from tests.protocols.topk.test_promise import OPTIONS

SHARES = ["0", "0.001", "0.02", "0.3"]


def assert_close(run: Run, share: str) -> None:
    """In other words than the judge's, over the rows of the last epoch."""
    for row in run.settled[-1].answers:
        if row.rank is not None:
            assert row.high - row.low <= float(share) * abs(row.estimate), row
            assert row.low <= row.estimate <= row.high


def kinds(run: Run) -> list[str]:
    return [message.kind for message in run.settled[-1].messages]


def test_a_site_that_is_polled_in_an_epoch_without_events_has_nothing_to_store() -> None:
    run = Run(Margins(ask_for(Margins, k=2, tolerance=40, totals="0.01")))
    run.step({"x": {"a": 50, "b": 30}, "y": {"a": 20, "c": 3}, "z": {"d": 1}})
    for _ in range(2):
        run.step({})
    states = {node: (state, mark(state, [])) for node, state in run.network.sites.states.items()}
    run.step({})
    assert kinds(run).count("polled") == len(states)
    assert [keep(state, stored) for state, stored in states.values()] == [None] * len(states)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_totals_are_within_their_share_over_stories_of_every_kind(method: type[TopKMethod]) -> None:
    for seed in range(160):
        chance = Random(seed + 61_000)
        scenario, options, share = draw_scenario(chance), chance.choice(OPTIONS[method.name]), chance.choice(SHARES)
        run = Run(
            method(ask_for(method, scenario.window, options=options, totals=share, **scenario.params)), seed % 3 == 0
        )
        try:
            for events, missing, roster in scenario.epochs:
                run.step(events, missing, roster)
                if not missing:
                    assert_close(run, share)
        except Exception as error:
            error.add_note(
                f"scenario {seed} of {method.name} with {options}, {share}: {scenario.params}, {scenario.window}"
            )
            raise


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("window", [Window(), Window(reset=3), Window(length=3)])
@pytest.mark.parametrize(("order", "signed"), [("largest", False), ("largest", True), ("smallest", False)])
def test_totals_are_within_their_share(method: type[TopKMethod], window: Window, order: str, signed: bool) -> None:
    run = Run(method(ask_for(method, window, k=2, tolerance=60, order=order, signed=signed, totals="0.02")))
    chance = Random(3)
    for _ in range(12):
        run.step({site: {item: chance.randint(1, 40) for item in "uvwxyz"} for site in ("a", "b", "c")})
        assert_close(run, "0.02")


@cache
def epochs_of(name: str, count: int) -> list[dict[str, dict[str, int]]]:
    (trace,) = (trace for trace in TRACES if trace.name == name)
    epochs = []
    for number, epoch in enumerate(trace.epochs()):
        if number == count:
            break
        epochs.append({site: dict(counts) for site, counts in epoch.items()})
    return epochs


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("name", "count", "window"), [("zeek", 15, None), ("zeek", 15, 5), ("flights", 5, 3)])
def test_totals_are_within_their_share_on_real_traces(
    traces: Path, method: type[TopKMethod], name: str, count: int, window: int | None
) -> None:
    (trace,) = (trace for trace in TRACES if trace.name == name)
    if not (traces / trace.file).exists():
        pytest.skip(f"no trace {trace.file}")
    for tolerance in (0, 500):
        run = Run(method(ask_for(method, Window(length=window), k=10, tolerance=tolerance, totals="0.02")))
        for events in epochs_of(name, count):
            run.step(events)
            assert_close(run, "0.02")


@pytest.mark.parametrize("method", [Margins, Caching])
def test_nobody_is_polled_where_totals_are_close_enough(method: type[TopKMethod]) -> None:
    for seed in range(40):
        scenario = draw_scenario(Random(seed + 67_000))
        scenario.params["tolerance"] = 0
        options = {"untracked": 0, "granted": 0} if method is Margins else None
        plain = run_scenario(scenario, method, options)
        scenario.params["totals"] = "0.01"
        assert plain.told == run_scenario(scenario, method, options).told


def test_as_many_sites_are_polled_as_it_takes() -> None:
    run = Run(Caching(ask_for(Caching, k=1, tolerance=80, totals="0.06")))
    run.step({site: {"x": 100} for site in "abcd"})  # each copy may be off by 10, so the total by 40 of 400
    assert kinds(run).count("poll") == 3
    (row,) = run.settled[-1].answers
    assert (row.low, row.estimate, row.high) == (390, 400, 410)


def test_margins_grants_no_width_that_would_have_to_be_polled_away() -> None:
    plain, close = (Run(Margins(ask_for(Margins, Window(length=4), k=1, totals=share))) for share in (None, "0.001"))
    for run in (plain, close):
        for number in range(40):
            run.step({"a": {"x": 1000 + number, "y": 10}, "b": {"x": 900, "y": 10}})
    assert any(message.kind == "item-widths" for settled in plain.settled for message in settled.messages)
    assert sum(message.kind == "poll" for settled in close.settled[5:] for message in settled.messages) == 0


def test_under_constraints_sites_tell_every_change_of_a_member() -> None:
    run = Run(Constraints(ask_for(Constraints, k=1, totals="0.02")))
    run.step({"a": {"x": 50, "y": 1}, "b": {"x": 5}})
    run.step({"a": {"x": 2}})
    assert kinds(run) == ["site-sums"]
    (row,) = run.settled[-1].answers
    assert (row.low, row.estimate, row.high) == (57, 57, 57)
    run.step({"c": {"z": 1}})
    assert_close(run, "0.02")
    run.step({})
    assert kinds(run) == []
    assert_close(run, "0.02")


@pytest.mark.parametrize("method", METHODS)
def test_what_a_missing_site_leaves_open_is_closed_when_it_is_back(method: type[TopKMethod]) -> None:
    run = Run(method(ask_for(method, k=2, tolerance=30, signed=True, totals="0.01")))
    run.step({"a": {"x": 50, "y": 20}, "b": {"x": 5, "z": 9}})
    run.step({"a": {"x": 1, "z": 60}}, missing=["b"])
    run.step({})
    assert_close(run, "0.01")


@pytest.mark.parametrize("method", METHODS)
def test_the_key_may_come_go_and_change_in_mid_chain(method: type[TopKMethod]) -> None:
    for seed in range(20):
        scenario = draw_scenario(Random(seed + 69_000))
        run = Run(method(ask_for(method, scenario.window, **scenario.params)))
        for number, (events, missing, roster) in enumerate(scenario.epochs):
            share = [None, "0.02", "0.5"][number % 3]
            run.change(method(ask_for(method, scenario.window, totals=share, **scenario.params)))
            run.step(events, missing, roster)
            if share is not None and not missing:
                assert_close(run, share)


def test_the_judge_tells_a_total_that_is_not_within_its_share() -> None:
    ask = ask_for(Caching, k=1, tolerance=40, totals="0.1")
    truth = TopK().truth(ask)
    moment = Moment(0, 0, 10, 0, Star(("a",)), ("a",))
    row = Answer(COORDINATOR, 10, "x", 1, 100.0, 94.0, 104.0)
    wide = Answer(COORDINATOR, 10, "x", 1, 100.0, 94.0, 105.0)

    def kept(row: Answer, moment: Moment = moment) -> list[bool]:
        return [v.kept for v in truth.judge(moment, Answers.of([row])) if v.promise == "total within its share"]

    assert kept(row) == [True]
    assert kept(wide) == [False]
    assert kept(wide, Moment(0, 0, 10, 0, Star(("a",)), ("a",), frozenset({"a"}))) == []


def test_the_promise_names_the_share() -> None:
    assert TopK().promise(ask_for(Caching, k=1, totals="0.020")) == (
        "valid within 0, totals within 0.02 of themselves (always)"
    )


@pytest.mark.parametrize("share", [-1, 1, "x"])
def test_a_share_is_at_least_0_and_below_1(share: Any) -> None:
    with pytest.raises(ValidationError, match="totals"):
        TopKParams(k=1, totals=share)


def test_equality_in_decimals_is_no_equality_in_floats_and_not_relied_on() -> None:
    ask = ask_for(Caching, k=1, totals=Decimal("0.29"))
    assert 29 > 0.29 * 100  # as floats
    assert not within_share(ask, 100, 29)
    assert within_share(ask, 100, 28)
    assert within_share(ask, -100, 28)
    assert within_share(ask, 0, 0)
    assert within_share(ask_for(Caching, k=1), 1, 10**9)
