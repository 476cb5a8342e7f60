"""The question's own rules: faults of a monitor, sites that leave, mutations that the judge must notice."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from monitoring_lib.answers import Answers
from monitoring_lib.protocols.aggregates import filters, site
from monitoring_lib.protocols.aggregates.question import Aggregates
from monitoring_lib.protocols.aggregates.readings import Readings
from monitoring_lib.topology import Roster
from tests.protocols.aggregates.driver import Network, cut, method, walks

TICKS = 20
SUM = {"name": "x", "ask": "sum", "precision": 12}


@pytest.mark.parametrize(
    ("queries", "budget", "path", "problem"),
    [
        ([SUM, SUM], None, ("queries", 1, "name"), "two queries are called 'x'"),
        ([{**SUM, "ask": "avg", "weights": {"a": 1}}], None, ("queries", 0, "weights"), "avg has no weights"),
        ([{**SUM, "weights": {"a": 1}, "objects": ["a"]}], None, ("queries", 0, "objects"), "weights name"),
        ([{**SUM, "objects": ["a", "a"]}], None, ("queries", 0, "objects"), "names an object twice"),
        ([{**SUM, "weights": {"a": "1e30"}}], None, ("queries", 0, "weights"), "too many digits"),
        ([{**SUM, "weights": {"a": "0.12345678901234567"}}], None, ("queries", 0, "weights"), "too many digits"),
        ([SUM], 9, ("queries", 0, "precision"), "the budget finds the precision"),
    ],
)
def test_what_cannot_be_asked_is_a_fault_that_names_the_key(
    queries: Any, budget: int | None, path: Any, problem: str
) -> None:
    ask = method(queries, TICKS, budget=budget).ask
    (fault,) = Aggregates().faults(ask)
    assert fault.path == path
    assert problem in fault.problem
    assert fault.remedy


def test_objects_of_a_site_that_leaves_take_part_for_one_epoch_more() -> None:
    network = Network(method([{**SUM, "ask": "avg"}, {"name": "n", "ask": "count"}], 2, publish="epoch"))
    network.step({"a/1": [4, 4], "b/1": [40, 40]})
    replay = network.replay
    name = network.method.name
    replay._rosters[name] = replay._rosters[name].without(["b"])
    replay._topologies[name] = network.method.topology(replay._rosters[name])
    counts = []
    for value in (5, 6):
        step = network.step({"a/1": [value, value]})
        assert len(step.verdicts.where_broken()) == 0
        counts.append(next(row.estimate for row in step.settled.answers if row.key == "n"))
    assert counts == [2, 1]
    assert isinstance(replay._rosters[name], Roster)


def run_with(monkeypatch: pytest.MonkeyPatch, target: Any, name: str, changed: Any) -> int:
    monkeypatch.setattr(target, name, changed)
    series = walks(Random(11), 8, TICKS * 6)
    network = Network(method([SUM, {"name": "m", "ask": "min", "precision": 4}], TICKS))
    return sum(len(network.step(cut(series, epoch, TICKS)).verdicts.where_broken()) for epoch in range(6))


def test_a_filter_that_is_one_step_too_wide_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wider(widths: Any, filter_: Any) -> Any:
        return filters.whole_steps(widths, filter_) + 1

    assert run_with(monkeypatch, site, "whole_steps", wider) > 0


def test_a_coordinator_that_is_told_too_much_width_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from monitoring_lib.protocols.aggregates.fixed import policies

    def doubled(constraints: Any, quantum: int) -> Any:
        return 2 * np.minimum(policies.uniform(constraints), 1 << 40)

    assert run_with(monkeypatch, policies, "waterfill", doubled) > 0


def test_the_judge_notices_rows_that_are_missing_surplus_or_off() -> None:
    network = Network(method([SUM], 2, publish="epoch"))
    step = network.step({"a/1": [4, 4]})
    truth = next(iter(network.replay._landed.values())).truth
    (row,) = step.settled.answers
    for wrong in (
        [], [row, row], [replace(row, key="other")], [replace(row, tick=row.tick + 1)], [replace(row, low=4.5)],
        [replace(row, high=3.5)], [replace(row, high=row.low + 13)], [row, replace(row, key="y")],
    ):  # fmt: skip
        assert len(truth.judge(step.moment, Answers.of(wrong)).where_broken()) > 0, wrong
    assert len(truth.judge(step.moment, Answers.of([row])).where_broken()) == 0


def test_readings_merge_whatever_the_order_and_refuse_wrong_lengths() -> None:
    def of(names: list[str], rows: list[int], ticks: list[int], values: list[int]) -> Readings:
        return Readings(names, *(np.array(part, np.int64) for part in (rows, ticks, values)))  # type: ignore[arg-type]

    one, two = of(["a", "c"], [2, 1], [0, 3, 1], [5, 6, 7]), of(["b", "c"], [1, 1], [2, 0], [8, 9])
    merged = of(["a", "b", "c"], [2, 1, 2], [0, 3, 2, 0, 1], [5, 6, 8, 9, 7])
    assert one.merge(two).to_bytes() == two.merge(one).to_bytes() == merged.to_bytes()
    with pytest.raises(ValueError, match="ticks and values"):
        of(["a"], [2], [0], [5])
