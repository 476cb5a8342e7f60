"""Merges every so many epochs, sites that join, go missing and come back, changed monitors."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

from monitoring_lib.methods import Method
from monitoring_lib.protocols.recent_counts.every_update import EveryUpdate
from monitoring_lib.protocols.recent_counts.merged import Merged
from monitoring_lib.summaries import Measure
from monitoring_lib.topology import Roster, Tree
from tests.protocols.recent_counts.driver import EPOCH, TICKS, Driver, ask, certainly_kept, rows

X = [{"name": "x", "point": "x", "range": "30s"}]
TOP = [{"name": "top", "heavy_hitters": 0.3, "range": "20s"}]


def test_between_two_merges_the_rows_are_those_of_the_last_one() -> None:
    driver = Driver(Merged(ask(X, every=3)), ["a", "b"])
    found = [driver.step([("a", epoch * TICKS, "x")]) for epoch in range(7)]
    assert [rows(step)["x"].estimate for step in found] == [1, 1, 1, 3, 3, 3, 3]
    assert [rows(step)["x"].tick // EPOCH for step in found] == [1, 1, 1, 4, 4, 4, 7]
    assert [len(step.settled.messages) for step in found] == [1, 0, 0, 1, 0, 0, 1]
    assert all(certainly_kept(step) for step in found)


def test_a_site_that_joins_brings_the_next_merge_forward() -> None:
    driver = Driver(Merged(ask(X, every=4)), ["a"])
    driver.step([("a", 0, "x")])
    joined = driver.step([("b", 10, "x")])
    assert rows(joined)["x"].estimate == 2
    assert rows(driver.step([("b", 20, "x")]))["x"].tick == 2 * EPOCH


def test_a_missing_site_without_events_leaves_the_answer_whole() -> None:
    driver = Driver(Merged(ask(X)), ["a", "b"])
    driver.step([("a", 0, "x"), ("b", 0, "x")])
    away = driver.step([("a", 10, "x")], missing=["b"])
    assert (rows(away)["x"].estimate, rows(away)["x"].partial) == (3, False)
    assert certainly_kept(away)


def test_a_missing_site_may_know_names_that_nobody_has_told() -> None:
    driver = Driver(Merged(ask(TOP, error=0.05)), ["a", "b"])
    driver.step([("b", 0, "old")] * 50 + [("b", 9, "x"), ("a", 9, "y")])
    away = [driver.step(missing=["b"]) for _ in range(3)]
    assert [any(row.partial for row in rows(step).values()) for step in away[:1]] == [True]
    assert not rows(away[2])
    assert all(certainly_kept(step) for step in away)


def test_what_a_missing_site_has_not_told_makes_the_answer_partial_and_open() -> None:
    driver = Driver(Merged(ask(X, every=2)), ["a", "b"])
    driver.step([("a", 0, "x"), ("b", 0, "x")])
    driver.step([("b", 10, "x")])
    away = rows(driver.step([("a", 20, "x")], missing=["b"]))["x"]
    assert (away.estimate, away.high, away.partial) == (3, math.inf, True)
    back = driver.step()
    assert (rows(back)["x"].estimate, rows(back)["x"].partial) == (2, False)  # those at ticks 10 and 20


def test_a_partial_answer_is_not_repeated_once_nothing_is_owed() -> None:
    driver = Driver(Merged(ask([{"name": "x", "point": "x", "range": "20s"}], span=20, every=5)), ["a", "b"])
    owed = [driver.step([("a", 0, "x"), ("b", 0, "x")], missing=["b"]), driver.step([("a", 10, "x")])]
    assert [rows(step)["x"].partial for step in owed] == [True, True]
    whole = [driver.step([("b", epoch * TICKS, "x")]) for epoch in (2, 3)]
    assert [rows(step)["x"].tick // EPOCH for step in (*owed, *whole)] == [1, 2, 3, 3]
    assert [(rows(step)["x"].estimate, rows(step)["x"].partial) for step in whole] == [(2, False)] * 2
    assert all(certainly_kept(step) for step in (*owed, *whole))


def test_a_site_that_has_left_the_roster_counts_no_more() -> None:
    for levels in (1, 3):
        method = Merged(ask(X, levels=levels))
        driver = Driver(method)
        driver.step([("a", 0, "x"), ("b", 0, "x")])
        driver.replay._rosters["merged"] = Roster(("a",), {"a": ()})
        driver.replay._topologies["merged"] = method.topology(Roster(("a",), {"a": ()}))
        step = driver.step([("a", 10, "x")])
        assert rows(step)["x"].estimate == 2
        assert certainly_kept(step)


def test_no_site_changes_its_parent_when_others_join_or_leave() -> None:
    method, rng = Merged(ask(X, levels=4)), Random(2)
    names = [f"site {n}" for n in range(60)]
    trees = []
    for count in (1, 7, 60):
        chosen = tuple(rng.sample(names, count))
        trees.append(method.topology(Roster(chosen, dict.fromkeys(chosen, ()))))
    whole = trees[-1]
    assert isinstance(whole, Tree)
    assert whole.depth == 4
    for tree in trees:
        assert isinstance(tree, Tree)
        assert tree.parents.items() <= whole.parents.items()


def test_a_changed_monitor_goes_on_where_its_sketches_are_the_same() -> None:
    before = ask(X)
    assert Merged(ask([*X, {"name": "y", "point": "y", "range": "5s"}], every=3)).continues(before)
    assert not Merged(ask([*X, *TOP])).continues(before)
    assert not Merged(ask(X, error=0.2)).continues(before)
    assert not Merged(ask(X, levels=2)).continues(before)
    assert not Merged(ask(X, span=40)).continues(before)
    assert Merged(ask([*X, *TOP])).continues(ask([*X, {**TOP[0], "range": "30s"}]))
    assert not Merged(ask([*X, {**TOP[0], "range": "30s"}])).continues(ask([*X, *TOP]))
    exact = ask(X, kind=EveryUpdate)
    assert EveryUpdate(ask(TOP, error=0.3, kind=EveryUpdate)).continues(exact)
    assert not EveryUpdate(ask(X, span=40, kind=EveryUpdate)).continues(exact)


def test_a_site_that_is_back_after_its_events_expired_counts_afresh() -> None:
    kinds: list[type[Method]] = [Merged, EveryUpdate]
    for kind in kinds:
        driver = Driver(kind(ask(X, kind=kind)), ["a", "b"])
        driver.step([("b", 0, "x")])
        for _ in range(4):
            driver.step([("a", driver.epoch * TICKS, "x")], missing=["b"])
        back = driver.step([("b", 50, "x")])
        assert rows(back)["x"].estimate == 3
        assert certainly_kept(back)


def test_faults_name_the_key_and_the_remedy() -> None:
    def faults(*queries: dict[str, object], **more: object) -> list[tuple[object, ...]]:
        asked = ask(list(queries), **more)  # type: ignore[arg-type]
        method = Merged(asked) if not [*Merged.question.faults(asked)] else None
        return [fault.path for fault in [*Merged.question.faults(asked), *(method.faults() if method else ())]]

    assert faults({"name": "x", "point": "x", "range": "31s"}) == [("queries", 0, "range")]
    assert faults({"name": "x", "point": "x", "range": "1500ms"}) == [("queries", 0, "range")]
    assert faults({"name": "x", "between": [1, 2], "range": "1s"}) == [("queries", 0, "between")]
    assert faults({"name": "x", "between": [2, 1], "range": "1s"}, bits=4) == [("queries", 0, "between")]
    assert faults({"name": "x", "point": "07", "range": "1s"}, bits=4) == [("queries", 0, "point")]
    assert faults({"name": "x", "quantiles": [0.5], "range": "1s"}, bits=54) == [("queries", 0, "quantiles")]
    assert faults(X[0], X[0]) == [("queries", 1, "name")]
    assert faults({**TOP[0], "name": "x"}, {"name": "x:y", "point": "y", "range": "1s"}) == [("queries", 1, "name")]
    assert faults({"name": "x", "self_join": True, "range": "1s"}, counter="rw") == [("options", "merged", "counter")]
    assert faults(X[0], counter="rw", error=0.001) == [("error",)]
    assert faults(X[0]) == []
    summed = replace(ask(X), measure=Measure("sum", "value"))
    assert [fault.path for fault in Merged.question.faults(summed)] == [("measure",)]


def test_sketches_that_were_told_are_stored_once_and_a_site_is_ahead_only_between_merges() -> None:
    driver = Driver(Merged(ask(X, every=3)), ["a"])
    ahead = []
    for epoch in range(7):
        driver.step([("a", epoch * TICKS, "x")])
        state = driver.state("a")
        ahead.append(state.ahead is not None)
        assert state.sketches.arrived == epoch + 1
    assert ahead == [False, True, True, False, True, True, False]
