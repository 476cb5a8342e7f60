"""The tables after a run equal, answer for answer and message for message, what the simulator says."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.simulation import command as simulate
from jobs.simulation.generate import generate
from monitoring_lib.protocols import methods
from monitoring_lib.tables import ANSWERS, MESSAGES, Table
from tests.jobs.pipeline.deployment import Deployment

pytestmark = [pytest.mark.spark, pytest.mark.slow]
Deploy = Callable[..., Deployment]
FLIGHTS = {
    "name": "flights", "format": "csv", "path": "data/*.csv", "epoch": "1d", "origin": "2001-01-01",
    "columns": {"time": "time", "site": "site", "item": "item", "value": "value"},
}  # fmt: skip
WEEK = {
    "name": "week",
    "question": "top-k",
    "source": "flights",
    "k": 10,
    "tolerance": 50,
    "window": "7d",
    "method": "caching",
}
EVERY_METHOD = ["constraints", "caching", "requery"]
CDN = {
    "name": "cdn", "format": "csv", "path": "data/**/*.csv.gz", "epoch": "1h", "origin": "2026-01-01", "skew": "10000d",
    "columns": {"time": "time", "site": "site", "item": "item", "value": "value"},
}  # fmt: skip


def said(table: Table, rows: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(zip(*(map(str, rows[name].to_pylist()) for name in table.content), strict=True))


def assert_equals_simulation(deployed: Deployment, monitor: str, out: Path) -> None:
    """Answers and messages of a monitor, of all its methods, in both places; every verdict kept."""
    file = deployed.home / "conf/base/monitors" / f"{monitor}.yml"
    pattern = str(deployed.home / deployed.source["path"])
    source = deployed.source
    columns = ",".join(f"{name}={column}" for name, column in source["columns"].items())
    result = simulate.run(
        file,
        trace=pattern,
        columns=columns,
        epoch=source["epoch"],
        origin=source["origin"],
        scale=source.get("scale"),
        out=out,
        home=deployed.home,
    )
    assert result.promise_kept
    for table in (ANSWERS, MESSAGES):
        ours = deployed.context().lake.centre.read(table, [("monitor", "=", monitor)])
        theirs = pq.read_table(out / f"{table.name}.parquet")
        assert ours.num_rows > 0
        if table is ANSWERS:
            chosen = set(ours["method"].to_pylist())
            theirs = theirs.filter(pa.array([method in chosen for method in theirs["method"].to_pylist()]))
        assert said(table, ours) == said(table, theirs)


def first_days(traces: Path, folder: Path, days: int) -> None:
    """The first days of the flights, as one file."""
    with lzma.open(traces / "flights_2001_jan-apr.csv.xz", "rt") as trace, (folder / "flights.csv").open("w") as cut:
        cut.write(next(trace))
        for line in trace:
            if line >= f"2001-01-{days + 1:02}":
                break
            cut.write(line)


def test_thirty_days_of_flights_at_two_hundred_sites(deploy: Deploy, traces: Path, tmp_path: Path) -> None:
    deployed = deploy(source=FLIGHTS, monitors=[WEEK])
    first_days(traces, deployed.home / "data", 30)
    deployed.run(0, 30)
    assert_equals_simulation(deployed, "week", tmp_path / "simulated")


def test_ten_days_of_flights_by_every_method(deploy: Deploy, traces: Path, tmp_path: Path) -> None:
    monitor = WEEK | {"name": "all", "method": "margins", "shadow": EVERY_METHOD}
    assert {"margins", *EVERY_METHOD} == {method for question, method in methods() if question == "top-k"}
    deployed = deploy(source=FLIGHTS, monitors=[monitor])
    first_days(traces, deployed.home / "data", 10)
    deployed.run(0, 10)
    assert_equals_simulation(deployed, "all", tmp_path / "simulated")


def test_a_generated_trace_with_an_outage_and_late_rows_by_every_method(deploy: Deploy, tmp_path: Path) -> None:
    monitor = {
        "name": "objects", "question": "top-k", "source": "cdn", "k": 5, "tolerance": 20, "window": "3h",
        "method": "margins", "shadow": EVERY_METHOD,
    }  # fmt: skip
    deployed = deploy(source=CDN, monitors=[monitor])
    generate("cdn", deployed.home / "data", seed=3, sites=6, hours=8, events_per_hour=400, items=200)
    deployed.run(0, 8)
    assert_equals_simulation(deployed, "objects", tmp_path / "simulated")
