"""What changes while a monitor runs: precisions, queries, sites that are missing or leave, a budget."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from random import Random
from typing import Any

import pytest

from monitoring_lib.errors import DataError
from tests.protocols.aggregates.driver import (
    BY_NAME,
    Network,
    bounds_sent,
    brute_force,
    cut,
    entries,
    method,
    walks,
    widths_told,
    with_queries,
)

TICKS = 20
every_method = pytest.mark.parametrize("name", BY_NAME)


def query(name: str, ask: str, precision: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "ask": ask, "precision": precision, **more}


CHANGES: list[list[dict[str, Any]]] = [
    [query("a", "sum", 40), query("m", "avg", 3)],
    [query("a", "sum", 10), query("m", "avg", 3)],
    [query("a", "sum", 90), query("m", "avg", 1)],
    [query("m", "avg", 8), query("w", "sum", 6, weights={"s0/0": 2, "s1/2": -1, "s9/99": 4})],
    [query("w", "sum", 2, weights={"s0/0": 2, "s1/2": -1, "s9/99": 4}), query("low", "min", 4)],
    [query("w", "sum", 50, weights={"s0/0": 2, "s1/2": -1, "s9/99": 4}), query("b", "sum", 5)],
    [query("low", "min", 1), query("b", "sum", 9)],
    [query("a", "sum", 40), query("free", "avg", None)],
    [query("free", "avg", 2)],
]


@pytest.mark.parametrize("seed", range(3))
@every_method
def test_a_changed_precision_or_query_is_kept_from_its_first_epoch_on(name: str, seed: int) -> None:
    rng = Random(seed)
    queries = rng.sample(CHANGES, len(CHANGES))
    series = walks(rng, 8, TICKS * 2 * len(queries))
    # One object of the weighted sum is first seen in the middle of the run, at a site that joins then.
    series["s9/99"] = [None if tick < 9 * TICKS + 5 else rng.randint(0, 9) for tick in range(len(series["s0/0"]))]
    running = method(queries[0], TICKS, name)
    network = Network(running)
    for epoch in range(2 * len(queries)):
        network.change(with_queries(running, queries[epoch // 2]))
        step = network.step(cut(series, epoch, TICKS))
        assert len(step.verdicts.where_broken()) == 0, list(step.verdicts.where_broken())
        exact = brute_force(network.method, {n: v[: (epoch + 1) * TICKS] for n, v in series.items()})
        now = {key for key in exact if key[0] > epoch * TICKS}
        assert {(row.tick, row.key) for row in step.settled.answers} == now


CHANGED = [CHANGES[number] for number in (0, 0, 1, 2, 1, 5, 5, 6, 6, 0, 4, 4)]
"""The queries of twelve epochs."""
AWAY = (2, 3, 5, 9)
"""Those of them in which a site is missing."""


def changing(
    name: str, queries: Sequence[Sequence[dict[str, Any]]], away: Collection[int], **options: Any
) -> Iterator[Network]:
    """The network after each epoch, every promise kept: the queries change, and site `s0` is away in some epochs."""
    series = walks(Random(name), 8, TICKS * len(queries))
    running = method(queries[0], TICKS, name, **options)
    network = Network(running)
    for epoch, asked in enumerate(queries):
        network.change(with_queries(running, asked))
        missing = ["s0"] if epoch in away else []
        part = {n: v for n, v in cut(series, epoch, TICKS).items() if n.split("/")[0] not in missing}
        step = network.step(part, missing)
        assert len(step.verdicts.where_broken()) == 0, list(step.verdicts.where_broken())
        yield network


def assert_sound(networks: Iterable[Network], epochs: int) -> None:
    """The coordinator's state has no faults after any of so many epochs."""
    found = [list(network.method.role("@coordinator").faults(network.coordinator)) for network in networks]
    assert found == [[]] * epochs


@every_method
def test_queries_change_while_a_site_is_missing(name: str) -> None:
    assert_sound(changing(name, CHANGED, AWAY), epochs=12)


@every_method
def test_queries_that_change_twice_while_a_site_is_missing_are_kept_when_it_is_back(name: str) -> None:
    queries = [[query("a", "sum", precision)] for precision in (40, 40, 10, 400, 7, 7, 300, 3, 3)]
    assert_sound(changing(name, queries, (2, 3, 6)), epochs=9)


def test_a_missing_site_opens_sums_and_half_opens_extremes() -> None:
    asked = [
        query("sum", "sum", 4), query("mean", "avg", 4), query("low", "min", 4), query("high", "max", 4),
        query("other", "sum", 4, objects=["b/1"]), query("none", "sum", 4, weights={"a/1": 0, "b/1": 1}),
        {"name": "n", "ask": "count"},
    ]  # fmt: skip
    network = Network(method(asked, 2, publish="epoch"))
    network.step({"a/1": [5, 5], "b/1": [7, 7]})
    rows = {row.key: row for row in network.step({"b/1": [8, 8]}, ["a"]).settled.answers}
    assert [rows[key].low for key in ("sum", "mean")] == [-math.inf] * 2
    assert [rows[key].high for key in ("sum", "mean")] == [math.inf] * 2
    assert (rows["low"].low, rows["high"].high) == (-math.inf, math.inf)
    assert 8 <= rows["low"].high <= 12
    assert 4 <= rows["high"].low <= 8
    assert rows["other"].high - rows["other"].low <= 4
    assert not rows["other"].partial
    assert math.isfinite(rows["none"].low)
    assert rows["none"].partial
    assert (rows["n"].low, rows["n"].high) == (2, 2)
    assert all(rows[key].partial for key in ("sum", "mean", "low", "high", "n"))
    back = network.step({"a/1": [50, 51], "b/1": [8, 8]})
    assert len(back.verdicts.where_broken()) == 0
    assert not back.settled.answers.any_partial


@every_method
def test_sites_missing_at_random_break_nothing_and_are_partial_only_then(name: str) -> None:
    rng = Random(name)
    asked = [*CHANGES[0], query("low", "min", 5), query("w", "sum", 9, weights={"s1/2": 3, "s2/5": -1})]
    series = walks(rng, 8, TICKS * 20)
    network = Network(method(asked, TICKS, name))
    for epoch in range(20):
        missing = [site for site in ("s0", "s1", "s2", "s3") if rng.random() < 0.25]
        part = {n: v for n, v in cut(series, epoch, TICKS).items() if n.split("/")[0] not in missing}
        step = network.step(part, missing)
        assert len(step.verdicts.where_broken()) == 0
        assert step.settled.answers.any_partial == bool(missing)
        assert list(network.method.role("@coordinator").faults(network.coordinator)) == []


def test_an_object_at_a_second_site_fails_by_name() -> None:
    asked = [query("x", "sum", 1)]
    network = Network(method(asked, 1))
    network.step({"a/1": [1]})
    running = network.method
    summary = running.summary()
    from monitoring_lib.summaries import Cell
    from tests.laws.grouping import synopsis_of

    stray = synopsis_of(summary, Cell("b", 1, 1, 2, 1), [{"object": "a/1", "tick": 1, "value": 4}])
    with pytest.raises(DataError, match=r"'a/1' shows up at site 'b' and lives at 'a'"):
        network.replay.step(1, {"b": ()}, {summary: {"b": stray}})


def test_a_static_method_tells_widths_once() -> None:
    series = walks(Random(5), 8, TICKS * 6, steps=(1,))
    series = {name: [v if v is not None else 0 for v in values] for name, values in series.items()}
    network = Network(method([query("a", "sum", 40)], TICKS))
    told = [len(widths_told(network.step(cut(series, epoch, TICKS)))) for epoch in range(6)]
    assert told == [4, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("ask", ["avg", "sum"])
def test_a_budget_finds_a_precision_and_holds_to_it(ask: str) -> None:
    series = walks(Random(6), 10, TICKS * 40, steps=(10,))
    network = Network(method([{"name": "x", "ask": ask}], TICKS, budget=40))
    steps = [network.step(cut(series, epoch, TICKS)) for epoch in range(40)]
    spent = [entries([step]) for step in steps]
    assert spent[0] > 100
    assert sum(spent[10:]) <= 40 * 30 * 1.1
    assert sum(spent[10:]) >= 40 * 30 * 0.5
    assert all(len(step.verdicts.where_broken()) == 0 for step in steps)
    widths = [row.high - row.low for step in steps[10:] for row in step.settled.answers]
    assert all(math.isfinite(width) and width > 0 for width in widths)


def test_runs_never_send_more_than_recentring_at_equal_widths() -> None:
    for seed in range(6):
        series = walks(Random(seed), 8, TICKS * 10)
        sent = {}
        for filter_ in ("runs", "recentre"):
            network = Network(method([query("m", "avg", 8)], TICKS, "uniform", filter=filter_))
            sent[filter_] = bounds_sent([network.step(cut(series, epoch, TICKS)) for epoch in range(10)])
        assert sent["runs"] <= sent["recentre"]
