"""Aggregates through Spark and Delta over real temperatures: for every method the tables equal the simulator's."""

from __future__ import annotations

import csv
import lzma
from pathlib import Path
from typing import Any

import pytest

from monitoring_lib.protocols import methods
from tests.jobs.pipeline.test_equals_simulation import Deploy, assert_equals_simulation

pytestmark = [pytest.mark.spark, pytest.mark.slow]
MOTES = {
    "name": "motes", "format": "csv", "path": "data/*.csv", "epoch": "1h", "origin": "1970-01-01", "scale": 100,
    "columns": {"time": "time", "site": "site", "value": "value"},
}  # fmt: skip
SHADOWS = sorted({method for question, method in methods() if question == "aggregates"} - {"waterfill"})
MONITOR: dict[str, Any] = {
    "name": "temperatures", "question": "aggregates", "source": "motes", "object": "site", "value": "last(value)",
    "tick": "30s",
    "queries": [
        {"name": "mean", "ask": "avg", "precision": 0.5},
        {"name": "hall", "ask": "max", "objects": ["1", "2", "3"], "precision": 1},
        {"name": "balance", "ask": "sum", "weights": {"1": 2, "3": -1}, "precision": 4},
        {"name": "all", "ask": "sum", "precision": 20},
        {"name": "alive", "ask": "count"},
    ],
    "publish": "tick", "method": "waterfill", "shadow": SHADOWS,
}  # fmt: skip


def run(deploy: Deploy, traces: Path, out: Path, hours: int, motes: int) -> None:
    deployed = deploy(source=MOTES, monitors=[MONITOR])
    with (
        lzma.open(traces / "intel_lab_temperature_days1-4.csv.xz", "rt", encoding="utf-8") as trace,
        (deployed.home / "data" / "motes.csv").open("w", encoding="utf-8") as file,
    ):
        file.write("time,site,value\n")
        for row in csv.DictReader(trace):
            if int(row["time"]) >= 3600 * hours:
                break
            if int(row["site"]) <= motes:
                file.write(f"{row['time']},{row['site']},{row['value']}\n")
    deployed.run(0, hours // 2)
    deployed.run(hours // 2, hours)
    assert_equals_simulation(deployed, "temperatures", out)


@pytest.mark.long
def test_two_hours_of_eight_motes_by_every_method(deploy: Deploy, traces: Path, tmp_path: Path) -> None:
    run(deploy, traces, tmp_path / "simulated", 2, 8)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_day_of_all_motes_by_every_method(deploy: Deploy, traces: Path, tmp_path: Path) -> None:
    run(deploy, traces, tmp_path / "simulated", 24, 100)
