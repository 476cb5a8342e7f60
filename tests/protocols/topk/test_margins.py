"""Margins: what it tells and asks, and that it is caching when it may leave nothing untold."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from monitoring_lib.codec import decode
from monitoring_lib.epochs import Window
from monitoring_lib.methods import Moment
from monitoring_lib.network import COORDINATOR, Message, Post
from monitoring_lib.protocols.topk.caching import Caching
from monitoring_lib.protocols.topk.letters import SiteSums
from monitoring_lib.protocols.topk.margins import Margins
from monitoring_lib.protocols.topk.margins.bounds import Evidence
from monitoring_lib.protocols.topk.margins.coordinator import MarginsCoordinator
from monitoring_lib.protocols.topk.margins.letters import FirstValues, ItemWidths, Raise
from monitoring_lib.protocols.topk.margins.state import MarginsCoordinatorState
from monitoring_lib.protocols.topk.margins.upkeep import filled
from tests.protocols.topk.driver import Run, ask_for, assert_told_apart, draw_scenario, run_scenario

NOTHING_UNTOLD = {"untracked": 0, "granted": 0}


def run_of(options: dict[str, Any] | None = None, **params: Any) -> Run:
    return Run(Margins(ask_for(Margins, options=options, **params)))


def letters(run: Run, epoch: int = -1) -> list[tuple[str, str, Any]]:
    return [(m.sender, m.receivers, decode(m.payload, *Margins.letters)) for m in run.settled[epoch].messages]


def kinds(messages_: list[Message]) -> list[str]:
    return [message.kind for message in messages_]


@pytest.mark.slow
def test_with_nothing_left_untold_it_is_caching_entry_for_entry() -> None:
    for seed in range(150):
        scenario = draw_scenario(Random(seed + 5000))
        ours, theirs = run_scenario(scenario, Margins, NOTHING_UNTOLD), run_scenario(scenario, Caching)
        for one, other in zip(ours.settled, theirs.settled, strict=True):
            assert [(m.sender, m.payload) for m in one.messages] == [(m.sender, m.payload) for m in other.messages]
            assert [a.key for a in one.answers if a.rank] == [a.key for a in other.answers if a.rank]


def test_sums_that_only_grow_may_lag_by_a_whole_share_of_the_tolerance_others_by_half_a_share() -> None:
    def told(window: Window | None, rise: int) -> int:
        run = Run(Margins(ask_for(Margins, window, options={"untracked": "0.5", "granted": 0}, k=1, tolerance=20)))
        run.step({"a": {"x": 100}, "b": {"x": 100}})
        run.step({"a": {"x": rise}})
        return len(run.settled[-1].messages)

    assert (told(None, 10), told(None, 11)) == (0, 1)
    assert (told(Window(length=9), 5), told(Window(length=9), 6)) == (0, 1)


def test_a_fall_of_a_sum_that_should_only_grow_is_told_at_once() -> None:
    run = run_of(k=1, tolerance=20)
    run.step({"a": {"x": 100, "y": 90}, "b": {"x": 100}})
    run.step({"a": {"x": -1}})
    assert ("a", (COORDINATOR,), SiteSums(["x"], [99])) in letters(run)
    (row,) = run.settled[-1].answers
    assert (row.low, row.high) == (199, 199 + 20)


def test_a_chain_ends_where_falls_begin_to_be_told_at_once() -> None:
    caching, usual = ask_for(Margins, k=1, options=NOTHING_UNTOLD), ask_for(Margins, k=1)
    assert not Margins(usual).continues(caching)
    assert not Margins(caching).continues(usual)
    assert Margins(ask_for(Margins, k=1, options={"untracked": "0.2"})).continues(usual)
    windowed = [ask_for(Margins, Window(length=3), k=1, options=options) for options in (NOTHING_UNTOLD, {})]
    assert Margins(windowed[1]).continues(windowed[0])


def the_item_nobody_has_named(patch: pytest.MonkeyPatch) -> None:
    """Left out of the outsiders."""
    sound = MarginsCoordinator._prove

    def prove(
        self: MarginsCoordinator, state: MarginsCoordinatorState, moment: Moment, evidence: Evidence
    ) -> list[Post]:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(self, "_largest", False)
            inner.setattr(self, "_score_low", lambda bounds, name: bounds.low(name))
            inner.setattr(
                self, "_outsider_scores", lambda bounds, inside: {n: h for n, h in bounds.highs() if n not in inside}
            )
            return sound(self, state, moment, evidence)

    patch.setattr(MarginsCoordinator, "_prove", prove)


def the_epochs_in_which_nobody_speaks(patch: pytest.MonkeyPatch) -> None:
    """Not tested, though upkeep or a site that left can have broken the test."""
    sound = MarginsCoordinator._prove

    def prove(
        self: MarginsCoordinator, state: MarginsCoordinatorState, moment: Moment, evidence: Evidence
    ) -> list[Post]:
        return sound(self, state, moment, evidence) if evidence.unasked or state.names == [] else []

    patch.setattr(MarginsCoordinator, "_prove", prove)


@pytest.mark.parametrize("left_out", [the_item_nobody_has_named, the_epochs_in_which_nobody_speaks])
def test_what_the_test_must_not_leave_out(left_out: Callable[[pytest.MonkeyPatch], None]) -> None:
    assert_told_apart(left_out, range(3000, 3300), lambda scenario: run_scenario(scenario, Margins))


def test_a_site_tells_its_2k_largest_at_first_and_keeps_what_is_below_to_itself() -> None:
    run = run_of(k=1)
    run.step({"a": {"x": 90, "y": 20, "z": 3, "w": 1}, "b": {"x": 50}})
    first = {sender: letter for sender, _, letter in letters(run) if isinstance(letter, FirstValues)}
    assert first["a"] == FirstValues(["x", "y"], [90, 20], 3)
    assert first["b"] == FirstValues(["x"], [50], 0)
    run.step({"a": {"z": 5, "w": 2}})  # the thresholds now add up to half the best total
    assert run.settled[-1].messages == []
    assert [row.key for row in run.settled[-1].answers] == ["x"]


def test_thresholds_add_up_to_a_share_of_the_kth_total_by_what_sites_have_told() -> None:
    run = run_of(k=1, options={"untracked": "0.5", "granted": 0})
    run.step({"a": {"x": 300}, "b": {"x": 100}})
    raised = {receivers[0]: letter.threshold for _, receivers, letter in letters(run) if isinstance(letter, Raise)}
    assert raised == {"a": 150, "b": 50}


def test_a_level_that_is_above_its_part_is_left_and_the_others_share_the_rest() -> None:
    assert filled({"a": 0, "b": 0}, {"a": 3, "b": 1}, 100) == {"a": 75, "b": 25}
    assert filled({"a": 0, "b": 60}, {"a": 3, "b": 1}, 100) == {"a": 40}
    assert filled({"a": 0, "b": 0, "c": 10}, {"a": 1, "b": 1, "c": 0}, 100) == {"a": 45, "b": 45}
    assert filled({"a": 5}, {"a": 0}, 100) == {}


def test_an_unnamed_item_that_might_be_a_member_brings_the_thresholds_down() -> None:
    run = run_of(k=1)
    run.step({"a": {"x": 100}, "b": {"x": 100}})
    scenario: list[dict[str, dict[str, int]]] = [{"a": {"x": -99}, "b": {"x": -99, "y": 30}}]
    run.step(scenario[0])
    assert "lower" in kinds(run.settled[-1].messages)
    assert [row.key for row in run.settled[-1].answers] == ["y"]


def test_an_item_that_keeps_speaking_far_from_the_border_is_granted_a_width_and_falls_silent() -> None:
    run = run_of(k=1)
    run.step({"a": {"x": 1000, "y": 10}, "b": {"y": 10}})
    for _ in range(3):
        run.step({"a": {"x": 1}})
    assert any(isinstance(letter, ItemWidths) for epoch in range(4) for *_, letter in letters(run, epoch))
    run.step({"a": {"x": 1}})
    assert run.settled[-1].messages == []
    (row,) = run.settled[-1].answers
    assert row.low <= 1004 <= row.high


def test_the_two_sides_of_the_test_stand_in_the_coordinators_state() -> None:
    run = run_of(k=1, tolerance=6)
    run.step({"a": {"x": 100, "y": 97}, "b": {"x": 1}})
    state = run.network.inner.states[COORDINATOR]
    assert state.member_low <= 101
    assert state.outsider_high >= 97
    assert state.outsider_high <= state.member_low + 6
    assert not run.method.inner.faults(state)  # type: ignore[union-attr]
    state.outsider_high = state.member_low + 7
    assert run.method.inner.faults(state)  # type: ignore[union-attr]


def test_what_a_missing_site_may_hold_makes_the_answer_partial_with_a_bound_that_holds() -> None:
    run = run_of(k=1)
    run.step({"a": {"x": 100, "y": 60}, "b": {"x": 10, "y": 10}})
    run.step({"a": {"y": 5}, "b": {"y": 3}})
    run.step({"a": {"x": 1, "y": 49}}, missing=["b"])
    answers = run.settled[-1].answers
    assert answers.column("key") == ["y"] or answers.any_partial
    run.step({"a": {"x": 1}})
    assert not run.settled[-1].answers.any_partial


@pytest.mark.parametrize("order", ["largest", "smallest"])
def test_both_ends_hold_the_same_numbers_after_every_epoch(order: str) -> None:
    for seed in range(60):
        scenario = draw_scenario(Random(seed + 9000))
        scenario.params["order"] = order
        run = Run(Margins(ask_for(Margins, scenario.window, **scenario.params)))
        for events, missing, roster in scenario.epochs:
            run.step(events, missing, roster)
            coordinator = run.network.inner.states[COORDINATOR]
            for site in roster:
                state = run.network.sites.states.get(site)
                if state is None or site in missing:
                    continue
                assert {n: c for (s, n), c in coordinator.copies.items() if s == site} == dict(state.copies.items())
                assert {n: w for (s, n), w in coordinator.widths.items() if s == site} == dict(state.widths.items())
                assert coordinator.floors.of(site) == state.floor
                if order == "largest":
                    assert max(coordinator.thresholds[site], state.floor) == max(state.threshold, state.floor)
