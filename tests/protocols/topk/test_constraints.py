"""Constraints: the paper's case through the protocol, its message counts, its options, and readings that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest

from monitoring_lib.codec import decode
from monitoring_lib.epochs import Window
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.topk.adjusted import UNIT, Adjusted
from monitoring_lib.protocols.topk.constraints import Constraints
from monitoring_lib.protocols.topk.constraints.conduct import Conduct
from monitoring_lib.protocols.topk.constraints.pads import is_pad, item_of_key, key_of_item, pads
from monitoring_lib.protocols.topk.constraints.reallocation import Reallocation
from monitoring_lib.protocols.topk.constraints.resolution import Resolution
from monitoring_lib.protocols.topk.constraints.site import ConstraintsSite
from monitoring_lib.protocols.topk.constraints.state import ConstraintsCoordinatorState, ConstraintsSiteState
from tests.protocols.topk.driver import Epoch, Run, ask_for, assert_told_apart, draw_scenario, run_scenario


def run_of(options: dict[str, Any] | None = None, window: Window | None = None, **params: Any) -> Run:
    return Run(Constraints(ask_for(Constraints, window, options=options, **params)))


def coordinator_of(run: Run) -> ConstraintsCoordinatorState:
    state = run.network.inner.states[COORDINATOR]
    assert isinstance(state, ConstraintsCoordinatorState)
    return state


def kinds(run: Run, epoch: int = -1) -> list[str]:
    return [message.kind for message in run.settled[epoch].messages]


def names(run: Run) -> set[str]:
    return {row.key for row in run.settled[-1].answers if row.rank is not None}


def test_the_papers_two_objects_end_with_slack_3_at_both_sites() -> None:
    run = run_of({"held_back": 0, "split": "even"}, k=1)
    run.step({"a": {"1": 9, "2": 1}, "b": {"1": 1, "2": 3}})
    state = coordinator_of(run)
    assert names(run) == {"1"}
    assert {site: state.slacks[site] for site in "ab"} == {"a": 3 * UNIT, "b": 3 * UNIT}
    for site, sums, difference in (("a", (9, 1), -5), ("b", (1, 3), 5)):
        factors = run.network.sites.states[site].factors
        assert factors.get("1") - factors.get("2") == difference * UNIT
        assert sums[0] * UNIT + factors.get("1") - sums[1] * UNIT - factors.get("2") == 3 * UNIT
        assert factors.get("1") == state.factors.get((site, "1"))


def test_as_long_as_every_constraint_holds_nobody_speaks() -> None:
    run = run_of({"held_back": 0, "split": "even"}, k=1)
    run.step({"a": {"1": 9, "2": 1}, "b": {"1": 1, "2": 3}})
    run.step({"a": {"2": 3}, "b": {"2": 3}})  # just used up: 10 against 10
    assert kinds(run) == []
    run.step({"a": {"1": 5}})
    assert kinds(run) == []


def test_a_failed_constraint_that_the_coordinator_has_room_for_costs_two_messages() -> None:
    run = run_of({"held_back": "0.5", "split": "even"}, k=1)
    run.step({"a": {"1": 90, "2": 1}, "b": {"1": 1, "2": 3}, "c": {"1": 5}})
    run.step({"b": {"2": 20}})
    assert kinds(run) == ["request", "factors"]
    assert run.settled[-1].messages[0].entries == 2 + 1  # the member, the outsider, the border
    assert names(run) == {"1"}


def test_a_failed_constraint_that_it_has_no_room_for_costs_3m_minus_1_messages() -> None:
    run = run_of({"held_back": 0, "split": "even"}, k=1)
    run.step({"a": {"1": 9, "2": 1}, "b": {"1": 1, "2": 3}, "c": {"1": 1, "2": 1}})
    run.step({"b": {"2": 40}})
    m = 3
    assert len(kinds(run)) == 3 * m - 1
    assert sorted(set(kinds(run))) == ["factors", "request", "tell", "told"]
    assert names(run) == {"2"}


def test_the_printed_validation_asks_more_than_the_one_with_the_tolerance() -> None:
    entries = {}
    for strict in (False, True):
        chance = Random(3)
        run = run_of({"strict_validation": strict, "held_back": "0.5"}, k=2, tolerance=40)
        for _ in range(60):
            run.step({site: {item: chance.randint(1, 9) for item in "uvwxyz"} for site in "abcd"})
        entries[strict] = run.entries
    assert entries[False] < entries[True]


def test_joint_resolution_serves_all_who_fail_in_a_round_together() -> None:
    messages = {}
    for joint in (False, True):
        run = run_of({"joint": joint, "held_back": "0.5", "split": "even"}, k=1)
        run.step({site: {"1": 100, "2": 10} for site in "abcdefgh"})
        run.step({site: {"2": 100} for site in "abcdefgh"})
        messages[joint] = len(kinds(run))
        assert names(run) == {"2"}
    assert messages[True] <= messages[False]


def test_a_long_list_is_found_by_a_query_instead_of_being_sent() -> None:
    def entries(limit: int | None) -> int:
        run = run_of({"long_list": limit}, window=Window(length=2), k=1)
        crowd = {f"item {number}": 50 + number % 7 for number in range(200)}
        run.step({"a": {"top": 1000, **crowd}, "b": {"top": 100, **crowd}})
        run.step({"a": crowd, "b": crowd})
        run.step({"a": crowd, "b": crowd})
        assert names(run) <= crowd.keys()
        return run.entries

    assert entries(20) < entries(None) / 2


def test_a_fall_is_handed_to_the_site_that_has_room_for_it() -> None:
    run = run_of({"relief": 3, "long_list": None, "held_back": 0, "split": "even"}, window=Window(length=2), k=1)
    crowd = {f"item {number}": 9 for number in range(30)}
    run.step({"a": {"top": 1000, **crowd}, "b": {"top": 200, "item 0": 1}})
    run.step({"a": crowd, "b": {"top": 200, "item 0": 1}})
    run.step({"a": crowd, "b": {"top": 200, "item 0": 1}})
    said = [kind for settled in run.settled for kind in (message.kind for message in settled.messages)]
    m = 2
    relief = [kind for kind in said if kind in ("relief", "would-fail", "failing", "lowered")]
    assert relief
    assert len(relief) == 2 * m * said.count("relief")
    assert names(run) == {"top"}


def test_totals_within_a_share_are_exact_and_cost_an_entry_a_change() -> None:
    run = run_of(k=2, totals="0.02")
    run.step({"a": {"x": 50, "y": 30, "z": 1}, "b": {"x": 5, "y": 3}})
    run.step({"a": {"x": 2, "y": 2}, "b": {"y": 1}})
    rows = {row.key: (row.low, row.estimate, row.high) for row in run.settled[-1].answers}
    assert rows == {"x": (57, 57, 57), "y": (36, 36, 36)}
    assert sum(message.entries for message in run.settled[-1].messages) == 2 + 1


def test_without_a_poll_a_total_has_the_low_that_the_factors_prove() -> None:
    run = run_of(k=1)
    run.step({"a": {"x": 50, "y": 3}, "b": {"x": 20, "y": 3}})
    run.step({"a": {"x": 1}})
    (row,) = run.settled[-1].answers
    assert 0 <= row.low <= 71
    assert row.high == float("inf")
    assert row.estimate == 70


def test_pads_fill_the_set_and_are_never_published() -> None:
    run = run_of(k=5)
    run.step({"a": {"x": 5, "\0000": 3}})
    assert names(run) == {"x", "\0000"}
    assert len(coordinator_of(run).members) == 5
    assert sum(map(is_pad, coordinator_of(run).members)) == 3


def test_an_item_whose_sum_has_left_the_window_is_not_published() -> None:
    run = run_of(window=Window(length=2), k=3)
    run.step({"a": {"x": 5, "y": 2}, "b": {"z": 1}})
    assert names(run) == {"x", "y", "z"}
    run.step({"a": {"x": 1}})
    run.step({"a": {"x": 1}})
    assert names(run) == {"x"}


def test_items_of_any_text_are_told_from_pads() -> None:
    for item in ("", "0", "\0", "\x000", "\0\0", "\0\x000"):
        key = key_of_item(item)
        assert item_of_key(key) == item
        assert not is_pad(key)
        assert key not in pads(3)


def test_requests_made_under_older_factors_are_void_though_the_members_are_the_same() -> None:
    run = run_of({"held_back": 0, "split": "even"}, k=1)
    run.step({"a": {"1": 50, "2": 1}, "b": {"1": 50, "2": 1}, "c": {"1": 50, "2": 1}})
    run.step({"a": {"2": 60, "3": 20}, "b": {"2": 60, "4": 30}, "c": {"1": 60}})
    served = [m for m in run.settled[-1].messages if m.kind == "factors"]
    requests = [m for m in run.settled[-1].messages if m.kind == "request"]
    assert len(requests) == 2
    assert len(served) == 3  # one phase 3; the other site's request came before it
    assert names(run) == {"1"}


@pytest.mark.parametrize("factor", [1, 10**13 + 37])
def test_both_invariants_hold_in_whole_numbers_after_every_reallocation(
    factor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with sums beyond 10^15, whose adjusted sums do not fit into 64 bits."""
    apply, looked, largest = Resolution._apply, 0, 0

    def looking(self: Resolution, tried: Reallocation) -> None:
        nonlocal looked, largest
        apply(self, tried)
        looked, largest = looked + 1, max(largest, self.state.largest_total // UNIT)
        assert self.state.wrong_sums() == []
        if not self.frozen:
            assert self.allocation.shortfall(self.nameless) <= self.tolerance
        assert all(slack >= 0 for slack in tried.slacks(self._others_outside(tried.scope)).values())

    monkeypatch.setattr(Resolution, "_apply", looking)
    for seed in range(60):
        chance = Random(seed + 300)
        scenario, options = (
            draw_scenario(chance),
            chance.choice([{}, {"joint": True}, {"long_list": 2}, {"held_back": "0.3"}]),
        )
        scenario.epochs = [
            (_times(factor, events), *more) for events, *more in scenario.epochs if _largest(events) < 10**6
        ]
        run_scenario(scenario, Constraints, options)
    assert looked > 100
    assert largest > 10 * factor


def _times(factor: int, events: Epoch) -> Epoch:
    return {site: {name: factor * value for name, value in happened.items()} for site, happened in events.items()}


def _largest(events: Epoch) -> int:
    return max((abs(value) for happened in events.values() for value in happened.values()), default=0)


# Readings of the paper that are not sound: each of them breaks on scenarios that the real one passes.


def known_names_only(patch: pytest.MonkeyPatch) -> None:
    """Constraints tested over known names, without the object that a site has never seen."""
    sound = ConstraintsSite._test

    def test(self: ConstraintsSite, state: ConstraintsSiteState) -> Iterable[Post]:
        view = self._view(state)
        lowest = view.lowest_member()
        return sound(self, state) if lowest is not None and view.outsiders_above(lowest) else ()

    patch.setattr(ConstraintsSite, "_test", test)


def border_with_the_minimum(patch: pytest.MonkeyPatch) -> None:
    """The border as printed: at most the lowest member's adjusted sum."""
    sound = Adjusted.border

    def border(self: Adjusted, asked: set[str], nothing: int = 0) -> int:
        lowest = self.lowest_member()
        return sound(self, asked, nothing) if lowest is None else min(lowest, sound(self, asked, nothing))

    patch.setattr(Adjusted, "border", border)


def version_of_the_set_alone(patch: pytest.MonkeyPatch) -> None:
    """A request counts as long as the members have not changed since it was made."""
    made_under: dict[int, tuple[str, ...]] = {}
    apply = Resolution._apply

    def noting(self: Resolution, tried: Reallocation) -> None:
        apply(self, tried)
        made_under.update((number, tuple(self.state.members)) for number in self.state.numbers.values())

    def is_valid(self: Conduct, delivery: Delivery) -> bool:
        number: int = delivery.letter.number  # type: ignore[attr-defined]
        return made_under.get(number) == tuple(self.state.members)

    patch.setattr(Resolution, "_apply", noting)
    patch.setattr(Conduct, "_is_valid", is_valid)


@pytest.mark.parametrize("reading", [known_names_only, border_with_the_minimum, version_of_the_set_alone])
def test_a_reading_that_is_not_sound_breaks_where_the_sound_one_holds(
    reading: Callable[[pytest.MonkeyPatch], None],
) -> None:
    assert_told_apart(reading, range(400), lambda scenario: run_scenario(scenario, Constraints, {"long_list": None}))


def test_every_letter_can_be_read_back() -> None:
    run = run_scenario(draw_scenario(Random(11)), Constraints, {"relief": 0, "long_list": 1})
    for settled in run.settled:
        for message in settled.messages:
            letter = decode(message.payload, *Constraints.letters)
            assert letter.kind() == message.kind
            assert letter.entries == message.entries
