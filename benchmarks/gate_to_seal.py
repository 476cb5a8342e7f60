"""What an epoch costs from gate to seal: `python -m benchmarks.gate_to_seal [--events 10M] [--rounds 1] [--write]`.

Lands epochs of so many events each (16 sites, 100,000 items of a Zipf distribution) beside a Spark Connect server. The
first epoch warms up; each further one is run from gate to seal, once by one top-k monitor and once by five monitors
of different questions, and in turn with them `groupBy(site, item).count()` counts the landed events of that epoch
into a sink that keeps nothing. Prints seconds by step, and the ratios by the clock and by the processor time of
all processes together, which other work on the machine disturbs less. Ends with 1 where a ratio by the clock is above
3 for one monitor, or above 6 for five. With `--write` the table goes into docs/speed.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks._deployment import deployment
from benchmarks._measure import Workload
from benchmarks.scale import parse_count
from benchmarks.summarise import processor_time
from jobs.command.run import STEPS
from jobs.epoch.context import Context
from jobs.epoch.handover import Handover

PAGE = Path(__file__).resolve().parents[1] / "docs" / "speed.md"
BEGIN, END = "<!-- gate to seal -->", "<!-- end of gate to seal -->"
SITES, ITEMS, A_FILE, HOUR = 16, 100_000, 1_000_000, 3_600_000_000
MEASURED = ("gate", "summarise", "observe", "resolve", "validate", "seal")
SOURCE = {
    "name": "wide", "format": "parquet", "path": "data/*.parquet", "epoch": "1h", "origin": "2020-01-01",
    "columns": {"time": "time", "site": "site", "item": "item", "value": "value"}, "tick": "5m",
}  # fmt: skip
ALONE = {"name": "alone", "question": "top-k", "source": "wide", "k": 20}
FIVE = [
    {"name": "busiest", "question": "top-k", "source": "wide", "k": 20},
    {"name": "different", "question": "distinct-count", "source": "wide", "error": 0.1},
    {"name": "repeated", "question": "duplication", "source": "wide", "sample": 1000, "lag": 0.1,
     "ask": {"distinct": True, "once": True, "quantiles": [0.5, 0.9]}},
    {"name": "frequent", "question": "frequent-items", "source": "wide", "support": 0.01, "error": 0.001,
     "tree": {"fanout": 4}},
    {"name": "load", "question": "aggregates", "source": "wide", "value": "sum(value)",
     "queries": [{"name": "all", "ask": "sum", "precision": 1000}]},
]  # fmt: skip
CASES = {"one top-k monitor": (["alone"], 3.0), "five monitors": ([one["name"] for one in FIVE], 6.0)}


@dataclass(frozen=True)
class Spent:
    """Seconds by the clock and of processor time; by step, where there are steps."""

    clock: float
    processor: float
    steps: dict[str, float]


def write_events(context: Context, epoch: int, events: int) -> None:
    rng = np.random.default_rng(epoch)
    begin = context.config.source("wide").origin + epoch * HOUR
    ranks = Workload(events, ITEMS, 1.0, seed=epoch).items
    sites = pa.array([f"site {number:02}" for number in range(SITES)])
    items = pa.array([f"item {number:06}" for number in range(ITEMS)])
    for start in range(0, events, A_FILE):
        size = min(A_FILE, events - start)
        rows = {
            "time": pa.array(begin + np.sort(rng.integers(0, HOUR, size)), pa.timestamp("us", "UTC")),
            "site": sites.take(pa.array(rng.integers(0, SITES, size))),
            "item": items.take(pa.array(ranks[start : start + size])),
            "value": pa.array(rng.integers(0, 1_000, size)),
        }
        pq.write_table(pa.table(rows), context.home / "data" / f"{epoch:03}-{start // A_FILE:04}.parquet")


def timed(work: Callable[[], dict[str, float]]) -> Spent:
    begun, used = time.perf_counter(), processor_time()
    steps = work()
    return Spent(time.perf_counter() - begun, processor_time() - used, steps)


def run_steps(context: Context, epoch: int, steps: Sequence[str], monitors: list[str]) -> dict[str, float]:
    """Seconds by step."""
    clock = context.config.source("wide").clock
    handover = Handover.begin("wide", clock, clock.start_of(epoch), clock.start_of(epoch + 1), monitors)
    for step in steps:
        STEPS[step](context, handover)
    return {step: microseconds / 1e6 for step, microseconds in handover.times.items()}


def count(context: Context, epoch: int) -> dict[str, float]:
    source = context.config.source("wide")
    landing = context.lake.ledger.last_landing(source.name)
    start = source.clock.start_of(epoch)
    events = context.lake.events(source, landing, start, start + source.epoch)
    events.groupBy("site", "item").count().write.format("noop").mode("overwrite").save()
    return {}


def measure(events: int, rounds: int) -> tuple[list[Spent], dict[str, list[Spent]]]:
    """Counting, and by case gate to seal; one of each an epoch."""
    counts: list[Spent] = []
    found: dict[str, list[Spent]] = {name: [] for name in CASES}
    with deployment(SOURCE, [ALONE, *FIVE]) as context:
        for epoch in range(rounds + 1):
            write_events(context, epoch, events)
            run_steps(context, epoch, ["land"], [])
            for name, (monitors, _) in CASES.items():
                counted = timed(lambda at=epoch: count(context, at))  # type: ignore[misc]
                spent = timed(lambda at=epoch, only=monitors: run_steps(context, at, MEASURED, only))  # type: ignore[misc]
                if epoch:
                    counts.append(counted)
                    found[name].append(spent)
    return counts, found


def table(events: int, counts: Sequence[Spent], found: dict[str, list[Spent]]) -> tuple[list[str], bool]:
    """Lines of Markdown, and whether every ratio by the clock is as it should be."""
    clock, processor = median(one.clock for one in counts), median(one.processor for one in counts)
    steps = "|".join(f" {step} " for step in MEASURED)
    lines = [
        f"{events / 1e6:g} M events, 16 sites, 100,000 items; seconds. Counting by site and item took {clock:.1f} s.",
        "",
        f"| |{steps}| gate to seal | times counting, at most | by the clock | of processor time |",
        f"|---|{'---:|' * (len(MEASURED) + 4)}",
    ]
    good = True
    for name, spent in found.items():
        most = CASES[name][1]
        cells = [median(one.steps.get(step, 0.0) for one in spent) for step in MEASURED]
        whole = median(one.clock for one in spent)
        ratios = whole / clock, median(one.processor for one in spent) / processor
        good &= ratios[0] <= most
        shown = " | ".join(f"{cell:.1f}" for cell in (*cells, whole))
        lines.append(f"| {name} | {shown} | {most:g} | {ratios[0]:.1f} | {ratios[1]:.1f} |")
    return lines, good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--events", type=parse_count, default=1_000_000, help="events an epoch, such as 10M")
    parser.add_argument("--rounds", type=int, default=1, help="epochs that count, after a first one (1)")
    parser.add_argument("--write", action="store_true", help="write the table into docs/speed.md")
    given = parser.parse_args()
    lines, good = table(given.events, *measure(given.events, given.rounds))
    print("\n".join(lines))
    if given.write:
        before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN, 1)
        shown = "\n".join([BEGIN, *lines, END])
        PAGE.write_text(f"{before}{shown}{rest.split(END, 1)[1]}", encoding="utf-8")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
