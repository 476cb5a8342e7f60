"""What an audit costs beside the plain queries it needs: `python -m benchmarks.audit [--events 1M] [--epochs 30]`.

Makes a deployment with a top-k monitor over epochs of so many events each (16 sites, 100,000 items of a Zipf
distribution), seals them, then runs in one warm session, in turn, the audit of all epochs and the Spark SQL queries
that it needs: the events of each cell, and `GROUP BY epoch, site, item`, both collected. Prints the best seconds, the
median of the rounds' ratios, and the peak memory of an audit of a third of the epochs beside one of all, each in a
process of its own.
Ends with 1 where the ratio is above 2, or where memory grows by more than a quarter.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks._deployment import deployment
from benchmarks._measure import Workload
from benchmarks.scale import parse_count
from jobs.command.run import run
from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from jobs.verbs.audit import audit
from monitoring_lib.epochs import format_time, parse_time

MOST, MOST_MEMORY = 2.0, 1.25
SITES, ITEMS = 16, 100_000
SOURCE = {
    "name": "wide", "format": "parquet", "path": "data/*.parquet", "epoch": "1h", "origin": "2020-01-01",
    "columns": {"time": "time", "site": "site", "item": "item"},
}  # fmt: skip
MONITOR = {"name": "busiest", "question": "top-k", "source": "wide", "k": 10, "tolerance": 1000, "window": "6h"}
HOUR = 3_600_000_000
ALONE = "FARWATCH_BENCHMARK_AUDIT"
"""Set in a process that audits up to this time and prints its peak memory."""


def write_events(folder: Path, events: int, epochs: int) -> None:
    rng = np.random.default_rng(7)
    sites = pa.array([f"site {number:02}" for number in range(SITES)])
    items = pa.array([f"item {number:06}" for number in range(ITEMS)])
    ranks = Workload(events, ITEMS, 1.0).items
    for epoch in range(epochs):
        start = parse_time(SOURCE["origin"]) + epoch * HOUR
        columns = {
            "time": pa.array(start + np.sort(rng.integers(0, HOUR, events)), pa.timestamp("us", "UTC")),
            "site": sites.take(pa.array(rng.integers(0, SITES, events))),
            "item": items.take(pa.array(rng.permutation(ranks))),
        }
        pq.write_table(pa.table(columns), folder / f"{epoch:04}.parquet")


def plain(context: Context, epochs: int) -> int:
    """The queries that an audit cannot do without, chunk by chunk as it asks them."""
    from pyspark.sql import functions as F

    source, rows = context.config.source("wide"), 0
    clock, landing = source.clock, context.lake.ledger.last_landing("wide")
    for first in range(0, epochs, 2):
        events = context.lake.events(source, landing, clock.start_of(first), clock.start_of(min(first + 2, epochs)))
        rows += events.groupBy("epoch_start", "site", "write").agg(F.count(F.lit(1))).toArrow().num_rows
        rows += events.groupBy("epoch_start", "site", "item").agg(F.count(F.lit(1))).toArrow().num_rows
    return rows


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def peak(context: Context, epochs: int) -> float:
    """Megabytes of a process that audits so many epochs."""
    end = format_time(context.config.source("wide").clock.start_of(epochs))
    named = {ALONE: end, "FARWATCH_HOME": str(context.home), "FARWATCH_CONF": str(context.home / "conf")}
    done = subprocess.run([sys.executable, "-m", "benchmarks.audit"], env=os.environ | named, check=True,
                          capture_output=True, text=True)  # fmt: skip
    return float(done.stdout.split()[-1])


def alone(end: str) -> int:
    found = audit(Context.from_environment(), "wide", end=parse_time(end))
    assert found.is_sound, list(found.problems())
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return 0


def main() -> int:
    if ALONE in os.environ:
        return alone(os.environ[ALONE])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", default="1M")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with deployment(SOURCE, [MONITOR]) as context:
        write_events(context.home / "data", parse_count(given.events), given.epochs)
        clock = context.config.source("wide").clock
        run(context, Handover.begin("wide", clock, clock.start_of(0), clock.start_of(given.epochs), []))
        seconds(lambda: plain(context, 2))  # to warm up
        rounds = []
        for _ in range(given.rounds):
            ours = seconds(lambda: audit(context, "wide"))
            rounds.append((ours, seconds(lambda: plain(context, given.epochs))))
        ratio = median(ours / theirs for ours, theirs in rounds)
        own, other = (min(side) for side in zip(*rounds, strict=True))
        few, many = peak(context, max(1, given.epochs // 3)), peak(context, given.epochs)
    print(f"audit {own:.1f} s, plain queries {other:.1f} s, ratio {ratio:.2f} (at most {MOST:g})")
    print(f"memory: {few:.0f} MB of {max(1, given.epochs // 3)} epochs, {many:.0f} MB of {given.epochs}")
    return int(ratio > MOST or many > MOST_MEMORY * few)


if __name__ == "__main__":
    sys.exit(main())
