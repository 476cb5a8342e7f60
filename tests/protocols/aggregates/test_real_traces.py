"""Samples of real traces: temperatures, CPU loads and air quality, judged at every tick."""

from __future__ import annotations

import csv
import lzma
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.protocols.aggregates.driver import BY_NAME, Network, bounds_sent, cut, method, with_queries

QUERIES: list[dict[str, Any]] = [
    {"name": "mean", "ask": "avg", "precision": 1},
    {"name": "all", "ask": "sum", "precision": 8},
    {"name": "high", "ask": "max", "precision": 2},
]


def lines(path: Path, count: int) -> Iterator[dict[str, str]]:
    with lzma.open(path, "rt", encoding="utf-8") as text:
        yield from islice(csv.DictReader(text), count)


def intel(traces: Path) -> tuple[dict[str, list[int | None]], int, int]:
    series: dict[str, list[int | None]] = {}
    for row in lines(traces / "intel_lab_temperature_days1-4.csv.xz", 52 * 2880):
        if int(row["site"]) <= 8:
            walk = series.setdefault(row["site"], [None] * 2880)
            walk[int(row["time"]) // 30 % 2880] = round(float(row["value"]) * 100)
    return series, 100, 120


def planetlab(traces: Path) -> tuple[dict[str, list[int | None]], int, int]:
    rows = lines(traces / "planetlab_cpu_5days.csv.xz", 40)
    return {row["vm"].replace("/", "-"): [int(row[f"c{at}"]) for at in range(288)] for row in rows}, 1, 36


def beijing(traces: Path) -> tuple[dict[str, list[int | None]], int, int]:
    series: dict[str, list[int | None]] = {}
    for row in lines(traces / "beijing_air_2013-15.csv.xz", 12 * 480):
        text = row["PM2.5"]
        series.setdefault(row["site"], []).append(round(float(text) * 10) if text else None)
    return {name: values for name, values in series.items() if len(values) == 480}, 10, 24


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("read", [intel, planetlab, beijing], ids=lambda read: read.__name__)
def test_no_bound_and_no_width_is_broken_on_a_real_trace(read: Any, name: str, traces: Path) -> None:
    series, scale, ticks = read(traces)
    length = max(map(len, series.values()))
    network = Network(method(QUERIES, ticks, name, scale=scale))
    for epoch in range(length // ticks):
        step = network.step(cut(series, epoch, ticks))
        assert len(step.verdicts.where_broken()) == 0


@pytest.mark.parametrize("read", [intel, planetlab, beijing], ids=lambda read: read.__name__)
def test_runs_send_at_most_four_fifths_of_recentring(read: Any, traces: Path) -> None:
    series, scale, ticks = read(traces)
    asked = [{"name": "mean", "ask": "avg", "precision": 20 if scale < 100 else 1}]
    sent = {}
    for filter_ in ("runs", "recentre"):
        network = Network(method(asked, ticks, "uniform", scale=scale, publish="epoch", filter=filter_))
        steps = [network.step(cut(series, epoch, ticks)) for epoch in range(max(map(len, series.values())) // ticks)]
        sent[filter_] = bounds_sent(steps)
    assert sent["runs"] <= 0.8 * sent["recentre"]


def sets(names: list[str], scale: int) -> dict[str, list[dict[str, Any]]]:
    """Five overlapping queries with unequal precisions, weights of both signs, 200 random ones, both extremes."""
    rng, size = Random(1), 1 if scale == 100 else 20
    some = [rng.sample(names, rng.randint(1, len(names))) for _ in range(200)]
    asks = [rng.choice(["sum", "avg", "min", "max"]) for _ in some]
    return {
        "unequal": [
            {"name": str(at), "ask": "avg", "objects": names[at:], "precision": size * at * at} for at in range(5)
        ],
        "weighted": [
            {"name": "w", "ask": "sum", "precision": 9 * size,
             "weights": {name: rng.choice(["-2.5", "1", "0", "0.25"]) for name in names}},
        ],
        "random": [
            {"name": f"q{at}", "ask": ask, "objects": chosen, "precision": size * rng.choice([1, 2, 8])}
            for at, (ask, chosen) in enumerate(zip(asks, some, strict=True))
        ],
        "extremes": [
            {"name": f"{ask}{p}", "ask": ask, "precision": p * size} for ask in ("min", "max") for p in (0, 1, 4)
        ],
        "exact and free": [
            {"name": "exact", "ask": "sum", "precision": 0, "objects": names[:3]}, {"name": "free", "ask": "avg"},
            {"name": "empty", "ask": "sum", "objects": [], "precision": 1}, {"name": "n", "ask": "count"},
        ],
    }  # fmt: skip


@pytest.mark.parametrize("filter_", ["runs", "recentre"])
@pytest.mark.parametrize("read", [intel, planetlab, beijing], ids=lambda read: read.__name__)
def test_sets_of_queries_that_follow_each_other_while_sites_come_and_go(read: Any, filter_: str, traces: Path) -> None:
    series, scale, ticks = read(traces)
    rng, asked = Random(read.__name__), list(sets(sorted(series), scale).values())
    running = method(asked[0], ticks, scale=scale, filter=filter_)
    network = Network(running)
    for epoch in range(min(2 * len(asked), max(map(len, series.values())) // ticks)):
        network.change(with_queries(running, asked[epoch // 2 % len(asked)]))
        missing = rng.sample(sorted(series), 2) if epoch % 3 == 2 else []
        part = {name: values for name, values in cut(series, epoch, ticks).items() if name not in missing}
        step = network.step(part, missing)
        assert len(step.verdicts.where_broken()) == 0, list(step.verdicts.where_broken())[:3]
        assert step.settled.answers.any_partial <= bool(missing)
