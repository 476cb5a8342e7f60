"""Nothing but what is stored decides what a coordinator does next: caches and exchanges belong to the role."""

from __future__ import annotations

from dataclasses import fields
from random import Random
from typing import Any

import pytest

from monitoring_lib.protocols.topk.caching.state import CachingCoordinatorState
from monitoring_lib.protocols.topk.family import TopKMethod
from monitoring_lib.protocols.topk.methods import METHODS
from monitoring_lib.unstored import Unstored
from tests.protocols.topk.driver import Run, Scenario, ask_for, draw_scenario, run_scenario

SCENARIOS = 12


def scenarios() -> list[Scenario]:
    return [draw_scenario(Random(seed + 41_000)) for seed in range(SCENARIOS)]


def outcome(run: Run) -> list[Any]:
    return [(settled.messages, [m.payload for m in settled.messages], settled.answers) for settled in run.settled]


@pytest.mark.parametrize("method", METHODS)
def test_every_field_of_a_state_is_stored(method: type[TopKMethod]) -> None:
    built = method(ask_for(method, k=1))
    assert built.inner is not None
    for role in (built.site, built.inner):
        assert [field.name for field in fields(role.State) if not field.init] == []


@pytest.mark.parametrize("method", METHODS)
def test_a_role_that_is_built_anew_in_every_epoch_says_and_publishes_the_same(method: type[TopKMethod]) -> None:
    for scenario in scenarios():
        again = Run(method(ask_for(method, scenario.window, **scenario.params)))
        for events, missing, roster in scenario.epochs:
            again.change(method(again.method.ask))
            again.step(events, missing, roster)
        assert outcome(again) == outcome(run_scenario(scenario, method))


@pytest.mark.parametrize("method", METHODS)
def test_two_roles_that_take_turns_with_one_state_do_not_leave_each_other_stale(method: type[TopKMethod]) -> None:
    for scenario in scenarios():
        ask = ask_for(method, scenario.window, **scenario.params)
        pair = [method(ask), method(ask)]
        again = Run(pair[0])
        for number, (events, missing, roster) in enumerate(scenario.epochs):
            again.change(pair[number % 5 < 3])
            again.step(events, missing, roster)
        assert outcome(again) == outcome(run_scenario(scenario, method))


@pytest.mark.parametrize("method", METHODS)
def test_one_role_serves_several_coordinators(method: type[TopKMethod]) -> None:
    for scenario in scenarios():
        shared = method(ask_for(method, scenario.window, **scenario.params))
        one, other = Run(shared), Run(shared)
        for number, (events, missing, roster) in enumerate(scenario.epochs):
            one.step(events, missing, roster)
            if number:
                before, away, sites = scenario.epochs[number - 1]
                other.step(before, away, sites)
        other.step(*scenario.epochs[-1])
        alone = run_scenario(scenario, method)
        assert outcome(one) == outcome(alone) == outcome(other)


def test_work_is_handed_out_in_its_epoch_and_the_next_and_let_go_when_another_state_settles_later() -> None:
    unstored: Unstored[str] = Unstored()
    first, second = CachingCoordinatorState(), CachingCoordinatorState()
    unstored.put(first, 5, "work")
    assert (unstored.of_epoch(first, 5), unstored.of_epoch(first, 6)) == ("work", None)
    assert [unstored.up_to(first, epoch) for epoch in (4, 5, 6, 7)] == [None, "work", "work", None]
    assert unstored.up_to(second, 5) is None
    unstored.put(second, 6, "other")
    unstored.settle(second, 6)
    assert unstored.up_to(first, 5) == "work"  # under way
    unstored.settle(first, 5)
    unstored.put(second, 7, "other")
    unstored.settle(second, 7)
    assert unstored.up_to(first, 5) is None
