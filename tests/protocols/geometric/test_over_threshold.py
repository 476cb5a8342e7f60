"""Items over a threshold, as users see them."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from monitoring_lib.methods import Method
from monitoring_lib.protocols.geometric.over_threshold import EveryUpdate, LocalTests
from monitoring_lib.protocols.geometric.over_threshold.question import OverThresholdParams, sizes_of
from monitoring_lib.protocols.geometric.over_threshold.site import TestingSite
from tests.protocols.geometric.driver import broken, method, run


def listed(step: object) -> list[str]:
    return step.settled.answers.column("key")  # type: ignore[attr-defined]


def params(threshold: float, slack: float = 0.1, error: float = 0.0) -> OverThresholdParams:
    return OverThresholdParams(threshold=threshold, slack=slack, error=error)


@pytest.mark.parametrize("error", [0.0, 0.05])
def test_six_sites_at_19_percent_each_raise_an_item_in_that_very_epoch(error: float) -> None:
    sites = [f"s{number}" for number in range(6)]
    quiet = {site: {"other": 1} for site in sites}
    steps = run([method(LocalTests, params(100, error=error), span=10)], [quiet, {site: {"hot": 19} for site in sites}])
    assert [listed(step) for step in steps] == [[], ["hot"]]
    assert broken(steps) == []


def test_an_item_at_the_upper_border_is_listed_and_one_below_the_lower_border_is_not() -> None:
    two = [{"a": {"x": 600}, "b": {"x": 500}}, {"a": {}, "b": {}}]
    steps = run([method(LocalTests, params(1000), span=1)], two)
    assert [listed(step) for step in steps] == [["x"], []]
    assert broken(steps) == []


def test_only_the_counters_of_failing_items_cross() -> None:
    many = {f"item {number}": 3 for number in range(500)}
    steps = run([method(LocalTests, params(100), span=5)], [{"a": {**many, "hot": 120}, "b": many}])
    kinds = {message.kind: message.entries for message in steps[0].settled.messages}
    assert kinds == {"alarm": 1, "collect": 2, "collected-counters": 1, "references": 4}


@pytest.mark.parametrize("shares", ["even", "count", "root"])
@pytest.mark.parametrize("error", [0.0, 0.1])
def test_the_promise_holds_while_items_wander_and_sites_come_and_go(shares: str, error: float) -> None:
    for seed in range(3):
        rng = Random(f"{seed}{shares}")
        sites = [f"s{number}" for number in range(5)]
        epochs = [
            {site: {item: rng.randrange(1, 9) for item in rng.sample("abcdefgh", 3)} for site in sites[: 2 + at // 5]}
            for at in range(30)
        ]
        missing = {at: rng.sample(sites[:2], 1) for at in range(30) if rng.random() < 0.2}
        chosen = params(40, 0.2, error)
        steps = run(
            [method(LocalTests, chosen, 5, seed=seed, shares=shares), method(EveryUpdate, chosen, 5)], epochs, missing
        )
        assert broken(steps) == []
        assert any(listed(step) for step in steps)


def test_items_that_were_not_over_are_let_go_after_a_window() -> None:
    epochs = [{"a": {"x": 30}, "b": {"y": 1}}, *[{"a": {"z": 1}, "b": {"z": 1}}] * 12]
    running = method(LocalTests, params(50), span=4)
    steps = run([running], epochs)
    assert broken(steps) == []
    assert [len(step.settled.messages) > 0 for step in steps] == [True] + [False] * 12


def raising(running: Method, item: str) -> list[str]:
    """For each row of the sketch an item that shares the given one's cell in that row alone."""
    rows = sizes_of(running.ask).rows
    assert rows is not None
    names = [item, *(f"other {number}" for number in range(2000))]
    columns = np.array([rows.columns(row, rows.keys(names)) for row in range(rows.depth)])
    same = columns[:, 1:] == columns[:, :1]
    return [names[1 + int(np.flatnonzero(same[row] & (same.sum(axis=0) == 1))[0])] for row in range(rows.depth)]


def test_an_item_that_other_items_raise_at_a_site_where_it_never_occurs_is_listed() -> None:
    """Its own count is 1. Against the arrays it is over, and the promise is against the arrays."""
    running = method(LocalTests, params(100, error=0.3), span=10)
    others = raising(running, "poor")
    steps = run(
        [running],
        [{"a": {"poor": 1}, "b": {}, "c": {}}, {"a": {}, "b": dict.fromkeys(others[:2], 115), "c": {others[2]: 115}}],
    )
    assert listed(steps[0]) == []
    assert "poor" in listed(steps[1])
    assert broken(steps) == []


def test_the_judge_sees_an_item_that_is_over_by_its_counters_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sites that track only what is large where it arrives miss it."""
    monkeypatch.setattr(TestingSite, "_newly_full", lambda *_: np.empty(0, np.int64))
    running = method(LocalTests, params(100, error=0.3), span=10)
    others = raising(running, "poor")
    steps = run([running], [{"a": {"poor": 1}, "b": {}}, {"a": {}, "b": dict.fromkeys(others, 115)}])
    assert {found.promise for _, found in broken(steps)} >= {"none is missing, as counted"}


def test_full_cells_are_let_go_after_a_window_and_told_anew_with_other_sites() -> None:
    running = method(LocalTests, params(60, error=0.3), span=4)
    quiet = [{"a": {"z": 1}, "b": {"z": 1}}] * 6
    steps = run([running], [{"a": {"x": 40}, "b": {"y": 1}}, *quiet, {"a": {"x": 40}, "b": {"z": 1}, "c": {"z": 1}}])
    told = [[message.kind for message in step.settled.messages if message.kind == "full-cells"] for step in steps]
    assert told == [["full-cells"], *[[]] * 6, ["full-cells"]]
    assert broken(steps) == []


def test_thresholds_below_one_and_beyond_all_counts_are_kept() -> None:
    epochs = [{"a": {"x": 1, "y": 3}, "b": {"x": 1}}, {"a": {}, "b": {}}, {"a": {}, "b": {}}]
    for error in (0.0, 0.2):
        small = run([method(LocalTests, params(0.5, error=error), span=2)], epochs)
        assert [listed(step) for step in small] == [["x", "y"], ["x", "y"], []]
        large = run([method(LocalTests, params(1e15, error=error), span=2)], epochs)
        assert [listed(step) for step in large] == [[], [], []]
        assert broken([*small, *large]) == []
