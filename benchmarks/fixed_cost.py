"""What an epoch without events costs: `python -m benchmarks.fixed_cost [--epochs 12]`.

Everything is warm: one process, one Spark session, epochs with events before. In turn with each epoch one empty
frame is appended to a Delta table in the same session; the epoch may take at most ten times as long as that.
"""

from __future__ import annotations

import argparse
import sys
import time
from statistics import median

from benchmarks._deployment import deployment
from jobs.command.run import run
from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from monitoring_lib.tables import EVENTS

MOST_TIMES = 10.0
BUSY_EPOCHS = 4
HOUR = 3_600
SOURCE = {
    "name": "shop", "format": "csv", "path": "data/*.csv", "epoch": "1h", "origin": "2020-01-01",
    "columns": {"time": "time", "site": "site", "item": "item", "value": "value"},
}  # fmt: skip
MONITORS = [
    {"name": "busiest", "question": "top-k", "source": "shop", "k": 3, "tolerance": 4, "method": "caching"},
    {"name": "recent", "question": "top-k", "source": "shop", "k": 2, "window": "3h", "method": "margins"},
]


def write_events(context: Context) -> None:
    origin = context.config.source("shop").origin // 1_000_000
    rows = [
        f"{origin + second},site {second % 4},item {second * second % 11},{second % 7}"
        for second in range(0, BUSY_EPOCHS * HOUR, 40)
    ]
    (context.home / "data/all.csv").write_text("\n".join(["time,site,item,value", *rows]) + "\n")


def run_epoch(context: Context, epoch: int) -> tuple[float, dict[str, int]]:
    """Seconds as the clock on the wall says, and microseconds by step."""
    clock = context.config.source("shop").clock
    begun = time.perf_counter()
    done = run(context, Handover.begin("shop", clock, clock.start_of(epoch), clock.start_of(epoch + 1), []))
    return time.perf_counter() - begun, done.times


def append_nothing(context: Context) -> float:
    """One empty Spark append to a Delta table, in seconds."""
    spark, place = context.session, str(context.home / "empty")
    begun = time.perf_counter()
    spark.createDataFrame([], EVENTS.ddl).write.format("delta").mode("append").save(place)
    return time.perf_counter() - begun


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--epochs", type=int, default=12, help="epochs without events that are measured")
    given = parser.parse_args()
    with deployment(SOURCE, MONITORS) as context:
        write_events(context)
        warm = 2 * BUSY_EPOCHS
        for epoch in range(warm):
            run_epoch(context, epoch)
            append_nothing(context)
        epochs, appends = [], []
        for epoch in range(warm, warm + given.epochs):
            epochs.append(run_epoch(context, epoch))
            appends.append(append_nothing(context))
    append, whole = median(appends), median(seconds for seconds, _ in epochs)
    print(f"{len(MONITORS)} monitors, {given.epochs} epochs without events; medians")
    for step in epochs[0][1]:
        print(f"  {step:<22}{median(times.get(step, 0) for _, times in epochs) / 1000:9.1f} ms")
    print(f"  {'the epoch':<22}{whole * 1000:9.1f} ms")
    print(f"  {'one empty append':<22}{append * 1000:9.1f} ms")
    print(f"{whole / append:.1f} times one empty append (at most {MOST_TIMES:g})")
    return int(whole / append > MOST_TIMES)


if __name__ == "__main__":
    sys.exit(main())
