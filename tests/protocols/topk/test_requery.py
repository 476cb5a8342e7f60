"""Requery: three phases, silence while nothing changes, and what it knows of sites that are missing."""

from __future__ import annotations

from typing import Any

import pytest

from monitoring_lib.protocols.topk.requery import Requery
from tests.protocols.topk.driver import Run, ask_for


def run_of(**params: Any) -> Run:
    return Run(Requery(ask_for(Requery, **params)))


def kinds(run: Run) -> list[str]:
    return [message.kind for message in run.settled[-1].messages]


def test_the_best_are_asked_for_then_what_lies_above_then_what_is_missing() -> None:
    run = run_of(k=1)
    run.step({"a": {"x": 10, "y": 9, "z": 1}, "b": {"y": 8, "x": 1, "w": 7}, "c": {"v": 6}})
    assert kinds(run) == [
        *["changed"] * 3, *["best"] * 3, *["found-objects"] * 3, *["above"] * 2, *["found-objects"] * 2, "tell", "told",
    ]  # fmt: skip
    (row,) = run.settled[-1].answers
    assert (row.key, row.low, row.estimate, row.high) == ("y", 17, 17, 17)


def test_nothing_is_asked_if_no_site_has_changed() -> None:
    run = run_of(k=1)
    run.step({"a": {"x": 10}})
    run.step({})
    assert kinds(run) == []
    assert [row.key for row in run.settled[-1].answers] == ["x"]


def test_a_tolerance_spares_questions() -> None:
    entries = []
    for tolerance in (0, 200):
        run = run_of(k=2, tolerance=tolerance)
        run.step({site: {f"item {number}": 1 + number * ord(site) % 101 for number in range(60)} for site in "abcd"})
        entries.append(run.entries)
    assert entries[1] < entries[0]


def test_a_missing_site_counts_with_what_it_said_last() -> None:
    run = run_of(k=1)
    run.step({"a": {"x": 10, "y": 1}, "b": {"x": 10, "y": 2}})
    run.step({"a": {"y": 3}}, missing=["b"])
    rows = {row.key: (row.low, row.high) for row in run.settled[-1].answers if row.rank is not None}
    assert rows == {"x": (20, 20)}
    run.step({"a": {"y": 30}}, missing=["b"])
    ((key, low, high),) = [(row.key, row.low, row.high) for row in run.settled[-1].answers if row.rank is not None]
    assert key == "y"
    assert low <= 36 <= high


@pytest.mark.parametrize("signed", [False, True])
def test_the_least_loaded_server_is_found(signed: bool) -> None:
    run = run_of(k=1, order="smallest", signed=signed)
    run.step({"a": {"server a": 40}, "b": {"server b": 10}, "c": {"server c": 25}})
    assert [row.key for row in run.settled[-1].answers] == ["server b"]
    run.step({"b": {"server b": 20}})
    assert [row.key for row in run.settled[-1].answers] == ["server c"]
