"""What `summarise` costs beside Spark's own aggregates: `python -m benchmarks.summarise [--events 10M] [--rounds 3]`.

Makes a Parquet table of events (16 sites, 100,000 items of a Zipf distribution), then runs in one warm session, in
turn, a distinct sketch of each site against `hll_sketch_agg` of each site, and exact counts against
`groupBy(site, item).count()`; all into a sink that keeps nothing. Prints the best seconds and the medians of the
rounds' ratios, by the clock and by the processor time of all processes together, which other work on the machine
disturbs less. Ends with 1 where a ratio by the clock is above 1.5.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks._measure import Workload
from benchmarks.scale import parse_count
from jobs.spark.options import spark_environment, spark_options
from jobs.spark.synopses import synopses_of
from monitoring_lib.epochs import Clock
from monitoring_lib.item_counts import ItemCounts
from monitoring_lib.protocols.distinct_count.summaries import FMOfItems
from monitoring_lib.summaries import Intake, Summary
from monitoring_lib.tables import EVENTS

MOST = 1.5
SITES, ITEMS, BITMAPS = 16, 100_000, 1_024
A_FILE = 1_000_000
CLOCK = Clock(1_577_836_800_000_000, 3_600_000_000)


def write_events(folder: Path, events: int) -> None:
    rng = np.random.default_rng(7)
    ranks = Workload(events, ITEMS, 1.0).items
    sites = pa.array([f"site {number:02}" for number in range(SITES)])
    items = pa.array([f"item {number:06}" for number in range(ITEMS)])
    for first in range(0, events, A_FILE):
        size = min(A_FILE, events - first)
        columns: dict[str, pa.Array] = {
            "source": pa.repeat("wide", size), "epoch_start": pa.repeat(CLOCK.origin, size),
            "day": pa.repeat(pa.scalar(CLOCK.origin // 86_400_000_000, pa.int32()), size),
            "time": pa.array(CLOCK.origin + np.sort(rng.integers(0, CLOCK.length, size))),
            "site": sites.take(pa.array(rng.integers(0, SITES, size))),
            "item": items.take(pa.array(ranks[first : first + size])),
            "value": pa.array(rng.integers(0, 1_000, size)), "digest": pa.repeat(f"file {first}", size),
            "line": pa.array(np.arange(size)), "write": pa.repeat("write", size),
        }  # fmt: skip
        arrays = [
            columns[field.name].cast(field.type) if field.name in columns else pa.nulls(size, field.type)
            for field in EVENTS.schema
        ]
        pq.write_table(pa.Table.from_arrays(arrays, schema=EVENTS.schema), folder / f"{first:012}.parquet")


def session(home: Path) -> Any:
    from pyspark.sql import SparkSession

    os.environ.update(spark_environment())
    builder = SparkSession.builder.master("local[2]")
    project = str(Path(__file__).resolve().parents[1])
    options = {"spark.executorEnv.PYTHONPATH": project}
    for name, value in spark_options(home, options, optimised=True).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def pairs(events: Any) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """By name, ours and Spark's own."""
    from pyspark.sql import functions as F

    def ours(summary: Summary, *exact: str) -> Any:
        intake = Intake(summary, {"item": "item"}, CLOCK.length)
        return synopses_of(events, [intake], source="wide", clock=CLOCK, scales={}, write="write", exact=exact)

    counts = Intake(ItemCounts(), {"item": "item"}, CLOCK.length).name
    return {
        "a distinct sketch, against hll_sketch_agg": (
            lambda: ours(FMOfItems(BITMAPS, seed=0)), lambda: events.groupBy("site").agg(F.hll_sketch_agg("item")),
        ),
        "exact counts, against groupBy(site, item).count()": (
            lambda: ours(ItemCounts(), counts), lambda: events.groupBy("site", "item").count(),
        ),
    }  # fmt: skip


def seconds(frame: Callable[[], Any]) -> tuple[float, float]:
    """By the clock, and of processor time."""
    begun, used = time.perf_counter(), processor_time()
    frame().write.format("noop").mode("overwrite").save()
    return time.perf_counter() - begun, processor_time() - used


def processor_time() -> float:
    """Of this process and all below it, those that have ended included."""
    own = psutil.Process()
    return sum(sum(process.cpu_times()[:4]) for process in (own, *own.children(recursive=True)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", default="10M")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    worst = 0.0
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "events"
        folder.mkdir()
        write_events(folder, parse_count(given.events))
        spark = session(Path(home))
        events = spark.read.parquet(str(folder))
        for name, (ours, theirs) in pairs(events).items():
            seconds(theirs), seconds(ours)  # to warm up
            rounds = [(seconds(ours), seconds(theirs)) for _ in range(given.rounds)]
            ratio, by_processor = (median(own[at] / other[at] for own, other in rounds) for at in (0, 1))
            own, other = (min(side[0] for side in sides) for sides in zip(*rounds, strict=True))
            print(
                f"{name}: {own:.2f} s, {other:.2f} s, ratio {ratio:.2f} (at most {MOST}),"
                f" of processor time {by_processor:.2f}",
                flush=True,
            )
            worst = max(worst, ratio)
        spark.stop()
    return int(worst > MOST)


if __name__ == "__main__":
    sys.exit(main())
