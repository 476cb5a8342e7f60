"""Many sites in one epoch: `python -m benchmarks.scale [--events 1M] [--sites 1000] [--epochs 1]`.

Makes events of a Zipf distribution, each of a site, as Parquet files; then `farwatch run` does every epoch in a process
of its own beside a Spark Connect server. Prints what each step took and how much memory that process, Spark's driver
in Python, took at most; checks the published totals against exact counts. Ends with 1 where more than 1 GB was taken,
or a total lies outside its bounds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks._deployment import deployment
from jobs.epoch.context import Context
from monitoring_lib.epochs import format_time
from monitoring_lib.tables import ANSWERS

MOST_BYTES = 1_000_000_000
HOUR = 3_600_000_000
A_FILE = 500_000
ITEMS = 100_000
SOURCE = {
    "name": "wide", "format": "parquet", "path": "data/*.parquet", "epoch": "1h", "origin": "2020-01-01",
    "columns": {"time": "time", "site": "site", "item": "item", "value": "value"},
}  # fmt: skip
MONITOR = {"name": "busiest", "question": "top-k", "source": "wide", "k": 20, "method": "margins"}


def parse_count(text: str) -> int:
    return int(float(text[:-1]) * {"k": 10**3, "M": 10**6}[text[-1]]) if text[-1] in "kM" else int(text)


def write_events(context: Context, epoch: int, events: int, sites: int) -> NDArray[np.int64]:
    """The files of an epoch; how often each item occurs in them."""
    draw = np.random.default_rng(epoch)
    begin = context.config.source("wide").origin + epoch * HOUR
    counts = np.zeros(ITEMS, np.int64)
    site_names = pa.array([f"site {number:05}" for number in range(sites)])
    item_names = pa.array([f"item {number:06}" for number in range(ITEMS)])
    for start in range(0, events, A_FILE):
        size = min(A_FILE, events - start)
        items = (draw.zipf(1.2, size) - 1) % ITEMS
        counts += np.bincount(items, minlength=ITEMS)
        rows = {
            "time": pa.array(begin + np.sort(draw.integers(0, HOUR, size)), pa.timestamp("us", "UTC")),
            "site": site_names.take(pa.array((np.arange(size) + draw.integers(0, sites, size)) % sites)),
            "item": item_names.take(pa.array(items)),
            "value": pa.array(np.ones(size, np.int64)),
        }
        pq.write_table(pa.table(rows), context.home / "data" / f"{epoch:03}-{start // A_FILE:04}.parquet")
    return counts


def run_epoch(context: Context, epoch: int) -> tuple[float, int, dict[str, int]]:
    """Seconds, the most memory in bytes, and microseconds by step, of `farwatch run` in a process of its own."""
    clock = context.config.source("wide").clock
    span = [format_time(clock.start_of(at)) for at in (epoch, epoch + 1)]
    command = [
        sys.executable,
        "-m",
        "jobs.command.cli",
        "run",
        "--source",
        "wide",
        "--from",
        span[0],
        "--to",
        span[1],
        "--json",
    ]
    named = {"FARWATCH_HOME": str(context.home), "FARWATCH_CONF": str(context.home / "conf")}
    begun = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | named) as process:
        assert process.stdout is not None
        told = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"`farwatch run` ended with {process.returncode}")
    times: dict[str, int] = json.loads(told.splitlines()[-1])["times"]
    return time.perf_counter() - begun, used.ru_maxrss * 1024, times


def outside(context: Context, epoch: int, counts: NDArray[np.int64]) -> int:
    """How many rows of the answer give bounds without the exact total, or name an item that is not of the top."""
    start = context.config.source("wide").clock.start_of(epoch)
    rows: list[dict[str, Any]] = context.lake.centre.read(ANSWERS, [("epoch_start", "=", start)]).to_pylist()
    least = np.sort(counts)[-len(rows)]
    exact = [int(counts[int(row["key"].removeprefix("item "))]) for row in rows]
    return sum(
        not row["low"] <= total <= row["high"] or total < least for row, total in zip(rows, exact, strict=True)
    ) + abs(len(rows) - int(MONITOR["k"]))  # type: ignore[call-overload]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--events", type=parse_count, default=1_000_000, help="events an epoch, such as 10M")
    parser.add_argument("--sites", type=parse_count, default=1_000)
    parser.add_argument("--epochs", type=int, default=1)
    given = parser.parse_args()
    counts, most, wrong = np.zeros(ITEMS, np.int64), 0, 0
    with deployment(SOURCE, [MONITOR]) as context:
        for epoch in range(given.epochs):
            counts += write_events(context, epoch, given.events, given.sites)
            seconds, peak, times = run_epoch(context, epoch)
            most, wrong = max(most, peak), wrong + outside(context, epoch, counts)
            steps = ", ".join(f"{step} {spent / 1e6:.1f}" for step, spent in times.items())
            print(f"epoch {epoch}: {given.events:,} events of {given.sites:,} sites in {seconds:.1f} s ({steps})")
    print(f"the driver's Python took {most / 1e6:.0f} MB at most (at most {MOST_BYTES / 1e6:.0f})")
    print(f"{wrong} of {given.epochs * int(MONITOR['k'])} published rows are wrong")  # type: ignore[call-overload]
    return int(most > MOST_BYTES or wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
