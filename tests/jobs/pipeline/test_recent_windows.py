"""The questions about recent windows on real traces: the tables of a run equal what the simulator says."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.pipeline.test_equals_simulation import Deploy, assert_equals_simulation

pytestmark = [pytest.mark.spark, pytest.mark.slow]

COLUMNS = {"time": "time", "site": "site", "item": "item"}
ZEEK: dict[str, Any] = {
    "name": "dns", "format": "csv", "path": "data/*.csv", "epoch": "1m", "origin": "2018-03-24T17:15Z",
    "columns": COLUMNS,
}  # fmt: skip
FLIGHTS: dict[str, Any] = {
    "name": "flights", "format": "csv", "path": "data/*.csv", "epoch": "10m", "origin": "2001-01-02T12:00Z",
    "columns": COLUMNS,
}  # fmt: skip


def monitors(source: str, tick: str, window: str, item: str, short: str, threshold: int) -> list[dict[str, Any]]:
    """Each question, exact where it can be and from sketches, with all its methods."""
    common = {"source": source, "tick": tick, "window": window}
    queries: list[dict[str, Any]] = [
        {"name": "one", "point": item, "range": short},
        {"name": "top", "heavy_hitters": 0.05, "range": window},
        {"name": "skew", "self_join": True, "range": short},
    ]
    counts = common | {"question": "recent-counts", "error": 0.1, "queries": queries, "shadow": ["every-update"]}
    join = common | {
        "question": "self-join-size", "tolerance": 0.15, "shadow": ["half-space", "arrays", "every-update"],
    }  # fmt: skip
    over = common | {
        "question": "over-threshold", "threshold": threshold, "slack": 0.1, "shadow": ["every-update"],
    }  # fmt: skip
    return [
        counts | {"name": "counts"},
        counts | {"name": "counts-by-waves", "shadow": [], "options": {"merged": {"counter": "dw", "levels": 2}}},
        *({**asked, "name": f"{name}-exact"} for name, asked in (("join", join), ("over", over))),
        *({**asked, "name": name, "error": 0.1} for name, asked in (("join", join), ("over", over))),
    ]


def cut(trace: Path, place: Path, first: str, end: str) -> None:
    """The rows of a trace from one time on, before another; times sort as texts."""
    with lzma.open(trace, "rt") as lines, place.open("w") as chosen:
        chosen.write(next(lines))
        for line in lines:
            if line >= end:
                break
            if line >= first:
                chosen.write(line)


def zeek(deploy: Deploy, traces: Path, tmp_path: Path, minutes: int) -> None:
    asked = monitors("dns", "1s", "5m", "ise.wrccdc.org", "90s", 200)
    deployed = deploy(source=ZEEK, monitors=asked)
    end = str(1521911700 + 60 * minutes)
    cut(traces / "zeek_dns_wrccdc_2018-03-24.csv.xz", deployed.home / "data/dns.csv", "1", end)
    deployed.run(0, minutes)
    for monitor in asked:
        assert_equals_simulation(deployed, monitor["name"], tmp_path / monitor["name"])


def test_the_first_minutes_of_zeek(deploy: Deploy, traces: Path, tmp_path: Path) -> None:
    zeek(deploy, traces, tmp_path, 3)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_all_of_zeek(deploy: Deploy, traces: Path, tmp_path: Path) -> None:
    zeek(deploy, traces, tmp_path, 22)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_one_hour_of_flights(deploy: Deploy, traces: Path, tmp_path: Path) -> None:
    asked = monitors("flights", "1m", "30m", "ORD", "20m", 20)
    deployed = deploy(source=FLIGHTS, monitors=asked)
    place = deployed.home / "data/flights.csv"
    cut(traces / "flights_2001_jan-apr.csv.xz", place, "2001-01-02T12:00", "2001-01-02T13:00")
    deployed.run(0, 6)
    for monitor in asked:
        assert_equals_simulation(deployed, monitor["name"], tmp_path / monitor["name"])
