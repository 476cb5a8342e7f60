"""What an epoch costs early and late in a chain: `python -m benchmarks.history [--epochs 120] [--early 20] [--dead]`.

20 sites, a growing and a sliding monitor, every epoch a run of its own over tables opened anew. The epochs that are
measured go through all eight steps beside a Spark Connect server; those between are made by the same steps without
Spark, one commit each, so that a thousand take minutes. `farwatch maintain` runs once in fifty epochs (the DAG's own
schedule is once a day); both figures are taken equally long after it. Prints files opened, bytes read and processor
seconds of an epoch, each the mean over several epochs, and their ratios late to early. With `--dead` one site is silent
from epoch 5 on. `--epochs 1000 --early 50` is the full size. Ends with 1 where a ratio is above its limit.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import mean

from benchmarks._deployment import deployment
from benchmarks._lake_reads import Cost, Watch, used
from jobs.command.run import run
from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from jobs.verbs.maintain import maintain
from tests.jobs.sealed_home import SealedHome
from tests.jobs.sealed_run import Event

LIMITS = {"files": 1.2, "bytes": 1.2, "seconds": 1.3}
SITES, ROWS, ITEMS, HOUR = 20, 300, 2_000, 3_600
DEAD, DIES, WARM, MAINTAINED = 7, 5, 2, 50
SOURCE = {
    "name": "shop", "format": "csv", "path": "data/*.csv", "epoch": "1h", "origin": "2020-01-01",
    "columns": {"time": "time", "site": "site", "item": "item", "value": "value"}, "quality": {"freshness": 0},
}  # fmt: skip
MONITORS = [
    {"name": "busiest", "question": "top-k", "source": "shop", "k": 5, "tolerance": 20},
    {"name": "recent", "question": "top-k", "source": "shop", "k": 5, "tolerance": 5, "window": "6h"},
]


def events_of(epoch: int, dead: bool) -> list[Event]:
    draw = random.Random(epoch)
    sites = [f"site {site}" for site in range(SITES) if not (dead and epoch >= DIES and site == DEAD)]
    return [(epoch, sites[at % len(sites)], f"item {int(draw.paretovariate(0.7)) % ITEMS}") for at in range(ROWS)]


def bring(context: Context, epoch: int, dead: bool) -> str:
    """An epoch's file."""
    begin = context.config.source("shop").origin // 1_000_000 + epoch * HOUR
    rows = [f"{begin + at},{site},{item},1" for at, (_, site, item) in enumerate(events_of(epoch, dead))]
    place = f"data/{epoch:06}.csv"
    (context.home / place).write_text("\n".join(["time,site,item,value", *rows]) + "\n")
    return place


def pass_by(context: Context, epoch: int, dead: bool) -> None:
    """An epoch that is not measured: landed, run and sealed without Spark."""
    place = bring(context, epoch, dead)
    home = SealedHome(context.home, MONITORS, SOURCE)
    home.landing = context.lake.ledger.last_landing("shop")
    home.land(events_of(epoch, dead), place)
    home.run(epoch, epoch + 1, missing={f"site {DEAD}": "silent"} if dead and epoch >= DIES else {})


def run_epoch(context: Context, epoch: int) -> Mapping[str, int]:
    """As the scheduler does: nothing is known from the epoch before but what the tables hold."""
    fresh = Context(context.config, context.home)
    fresh.__dict__["session"] = context.session
    clock = context.config.source("shop").clock
    handover = Handover.begin("shop", clock, clock.start_of(epoch), clock.start_of(epoch + 1), [])
    return run(fresh, handover).times


def measure(context: Context, watch: Watch, epochs: range, dead: bool) -> Cost:
    """The mean of one epoch."""
    costs, steps = [], Counter[str]()
    for epoch in epochs:
        bring(context, epoch, dead)
        watch.look()
        read, seconds = used([os.getpid()])
        steps.update(run_epoch(context, epoch))
        opened = watch.opened()
        read_after, seconds_after = used([os.getpid()])
        costs.append(Cost(opened.total(), read_after - read, seconds_after - seconds, opened))
    print("   steps, ms: " + ", ".join(f"{step} {spent / len(epochs) / 1e3:.0f}" for step, spent in steps.items()))
    tables = Counter[str]()
    for cost in costs:
        tables.update(cost.by_table)
    print("   files: " + ", ".join(f"{name} {count / len(costs):.1f}" for name, count in sorted(tables.items())))
    return Cost(
        mean(cost.files for cost in costs), mean(cost.bytes for cost in costs), mean(cost.seconds for cost in costs)
    )


def chain(given: argparse.Namespace, dead: bool) -> Sequence[str]:
    """Builds one chain and measures it twice; the figures that are above their limit."""
    print(f"{SITES} sites{', one of them dead since epoch 5' if dead else ''}, {len(MONITORS)} monitors")
    with deployment(SOURCE, MONITORS) as context:
        watch = Watch(context.home / "var")
        (context.home / "var").mkdir()
        found: list[Cost] = []
        epoch = 0
        begun = time.perf_counter()
        for length in (given.early, given.epochs):
            first = length - given.measured
            for at in range(epoch, first):
                if at < WARM or at == first - 1:
                    bring(context, at, dead)
                    run_epoch(context, at)
                else:
                    pass_by(context, at, dead)
                if at % MAINTAINED == MAINTAINED - 1:
                    maintain(context.lake)
            found.append(measure(context, watch, range(first, length), dead))
            epoch = length
            cost = found[-1]
            print(
                f"   at chain length {length}: {cost.files:.0f} files opened, {cost.bytes / 1e6:.2f} MB read,"
                f" {cost.seconds:.2f} s of processor ({time.perf_counter() - begun:.0f} s so far)",
                flush=True,
            )
        watch.close()
    early, late = found
    above = []
    for name, limit in LIMITS.items():
        ratio = getattr(late, name) / getattr(early, name)
        print(f"   {name}: {ratio:.2f} times (at most {limit})")
        if ratio > limit:
            above.append(name)
    return above


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--epochs", type=int, default=120, help="the late chain length")
    parser.add_argument("--early", type=int, default=20, help="the early chain length")
    parser.add_argument("--measured", type=int, default=8, help="epochs that each figure is the mean of")
    parser.add_argument("--dead", action="store_true", help="one site is dead since epoch 5")
    given = parser.parse_args()
    return int(bool(chain(given, given.dead)))


if __name__ == "__main__":
    sys.exit(main())
