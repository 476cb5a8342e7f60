"""The promise of every method, against brute force: exact inside the bounds, width within precision, at every tick."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import pytest

from tests.protocols.aggregates.driver import BY_NAME, Network, Step, brute_force, cut, method, walks

TICKS, EPOCHS = 20, 8

ONE = [{"name": "mean", "ask": "avg", "precision": "2.5"}]
OVERLAPPING = [
    {"name": "all", "ask": "sum", "precision": 60},
    {"name": "mean", "ask": "avg", "precision": 4},
    {"name": "few", "ask": "sum", "objects": ["s0/0", "s1/2", "s1/3"], "precision": 9},
    {"name": "low", "ask": "min", "objects": ["s0/0", "s0/1", "s2/4"], "precision": 7},
    {"name": "high", "ask": "max", "precision": 12},
    {"name": "alive", "ask": "count"},
]
UNEQUAL = [{"name": f"p{p}", "ask": "sum", "precision": p} for p in (0, 1, 7, 30, 500)]
SIGNED = [
    {"name": "balance", "ask": "sum", "weights": {"s0/0": 2, "s1/3": -1, "s3/7": "0.25"}, "precision": 11},
    {"name": "nothing", "ask": "sum", "weights": {"s0/0": 0, "s0/1": 0}, "precision": 1},
    {"name": "never", "ask": "avg", "objects": ["nobody"], "precision": 1},
    {"name": "half", "ask": "sum", "weights": {"s0/0": 1, "nobody": 5}, "precision": 12},
    {"name": "open", "ask": "sum"},
]
EXTREMES = [{"name": f"{ask}{p}", "ask": ask, "precision": p} for ask in ("min", "max") for p in (0, 5, 40)]


def many(count: int) -> list[dict[str, Any]]:
    rng = Random(7)
    queries: list[dict[str, Any]] = []
    for number in range(count):
        names = [f"s{at // 2}/{at}" for at in rng.sample(range(12), rng.randint(1, 8))]
        asked = rng.choice(["sum", "sum", "avg", "min", "max"])
        queries.append({"name": f"q{number}", "ask": asked, "precision": rng.choice([3, 10, 50])})
        if asked == "sum" and rng.random() < 0.5:
            queries[-1]["weights"] = {name: rng.choice(["1", "-2", "0.5", "3"]) for name in names}
        else:
            queries[-1]["objects"] = names
    return queries


SETS = {
    "one": ONE, "overlapping": OVERLAPPING, "unequal": UNEQUAL, "signed": SIGNED, "extremes": EXTREMES,
    "two hundred": many(200),
}  # fmt: skip

every_method = pytest.mark.parametrize("name", BY_NAME)
every_set = pytest.mark.parametrize("queries", SETS.values(), ids=SETS)
every_filter = pytest.mark.parametrize("filter_", ["runs", "recentre"])


def assert_kept(network: Network, steps: list[Step], series: Any) -> None:
    """Every expected row and no other, the exact value inside, the width within the precision."""
    exact = brute_force(network.method, series)
    precisions = {query.name: query.precision for query in network.method.ask.params.queries}
    rows = {(row.tick, row.key): row for step in steps for row in step.settled.answers}
    assert rows.keys() == exact.keys()
    for key, row in rows.items():
        assert row.low <= float(exact[key]) <= row.high, (key, row, exact[key])
        precision = precisions[key[1]]
        if precision is not None:  # values and precisions of these tests are exact in doubles, but for means
            assert Fraction(row.high) - Fraction(row.low) <= Fraction(precision) + Fraction(1, 10**9), (key, row)
    assert all(len(step.verdicts.where_broken()) == 0 for step in steps)


@every_filter
@every_set
@every_method
def test_every_row_is_there_and_keeps_its_promise(name: str, queries: Any, filter_: str) -> None:
    rng = Random(f"{name}{filter_}{len(queries)}")
    series = walks(rng, 12, TICKS * EPOCHS)
    network = Network(method(queries, TICKS, name, filter=filter_))
    steps = [network.step(cut(series, epoch, TICKS)) for epoch in range(EPOCHS)]
    assert_kept(network, steps, series)


@pytest.mark.parametrize("value", ["count", "sum(value)", "mean(value)", "min(value)", "max(value)", "last(value)"])
def test_every_reduction_holds_or_falls_to_zero(value: str) -> None:
    series = walks(Random(value), 6, TICKS * EPOCHS)
    if value == "count":
        series = {name: [None if v is None else 1 for v in values] for name, values in series.items()}
    network = Network(method(OVERLAPPING, TICKS, value=value))
    steps = [network.step(cut(series, epoch, TICKS)) for epoch in range(EPOCHS)]
    assert_kept(network, steps, series)


@every_method
def test_values_times_a_scale_come_back_in_units(name: str) -> None:
    series = walks(Random(name), 4, TICKS * EPOCHS)
    network = Network(method(OVERLAPPING, TICKS, name, scale=100))
    steps = [network.step(cut(series, epoch, TICKS)) for epoch in range(EPOCHS)]
    assert_kept(network, steps, series)


def test_the_last_tick_alone_is_published_by_default() -> None:
    series = walks(Random(1), 4, TICKS * 2)
    every, last = (Network(method(OVERLAPPING, TICKS, publish=publish)) for publish in ("tick", "epoch"))
    for epoch in range(2):
        rows = list(last.step(cut(series, epoch, TICKS)).settled.answers)
        end = (epoch + 1) * TICKS
        assert rows == [row for row in every.step(cut(series, epoch, TICKS)).settled.answers if row.tick == end]
        assert {row.tick for row in rows} == {end}


@every_method
def test_precision_zero_is_exact_and_no_precision_costs_first_readings_only(name: str) -> None:
    series = walks(Random(3), 4, TICKS * EPOCHS)
    exact = Network(method([{"name": "x", "ask": "sum", "precision": 0}], TICKS, name))
    steps = [exact.step(cut(series, epoch, TICKS)) for epoch in range(EPOCHS)]
    assert all(row.low == row.high for step in steps for row in step.settled.answers)
    free = Network(method([{"name": "x", "ask": "sum"}, {"name": "n", "ask": "count"}], TICKS, name))
    steps = [free.step(cut(series, epoch, TICKS)) for epoch in range(EPOCHS)]
    bounds = [m for step in steps for m in step.settled.messages if m.kind == "new-bounds"]
    assert sum(message.entries for message in bounds) == 4
    assert all(row.high == float("inf") for step in steps for row in step.settled.answers if row.key == "x")
    assert_kept(free, steps, series)
