"""A backfill against epochs one by one: `python -m benchmarks.backfill [--epochs 48] [--single 4] [--long 0]`.

30 sites and all monitors of conf. `--single` epochs are run one by one, each a process's work with tables opened anew;
then the rest of `--epochs` at once. Seconds an epoch, by the clock, warm, beside one Spark Connect server; then the
most memory that the driver's Python took. `--long 2000` goes on to so many epochs and compares seconds and memory with
those of the first backfill. `--epochs 288` is the full size. Ends with 1 where a backfilled epoch takes more than a
tenth.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from pathlib import Path

import yaml

from benchmarks._deployment import deployment
from jobs.command.run import run
from jobs.epoch.context import Context
from jobs.epoch.handover import Handover

MOST_SHARE = 0.1
SITES, ROWS, ITEMS, HOUR = 30, 600, 500, 3_600
A_FILE = 48
CONF = Path(__file__).parents[1] / "conf/base"


def bring(context: Context, first: int, last: int) -> None:
    """The events of these epochs, as one file."""
    origin = context.config.source("cdn").origin // 1_000_000
    rows = ["time,site,item,value"]
    for epoch in range(first, last):
        draw = random.Random(epoch)
        rows += [
            f"{origin + epoch * HOUR + at % HOUR},site {at % SITES:02},"
            f"/asset/{int(draw.paretovariate(0.8)) % ITEMS:06},{draw.randrange(10_000)}"
            for at in range(ROWS)
        ]
    (context.home / f"data/{first:06}.csv").write_text("\n".join(rows) + "\n")


def run_epochs(context: Context, first: int, last: int) -> float:
    """Seconds an epoch."""
    fresh = Context(context.config, context.home)
    fresh.__dict__["session"] = context.session
    clock = context.config.source("cdn").clock
    begun = time.perf_counter()
    run(fresh, Handover.begin("cdn", clock, clock.start_of(first), clock.start_of(last), []))
    return (time.perf_counter() - begun) / (last - first)


def memory() -> float:
    """The most that this process has taken, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--epochs", type=int, default=48)
    parser.add_argument("--single", type=int, default=4, help="epochs that are run one by one before")
    parser.add_argument("--long", type=int, default=0, help="go on to so many epochs")
    given = parser.parse_args()
    source = yaml.safe_load((CONF / "sources/cdn.yml").read_text())
    source |= {"path": "data/*.csv", "name": "cdn"}
    monitors = [yaml.safe_load(path.read_text()) for path in sorted((CONF / "monitors").glob("*.yml"))]
    with deployment(source, monitors) as context:
        end = max(given.epochs, given.long)
        for first in range(0, end, A_FILE):
            bring(context, first, min(end, first + A_FILE))
        run_epochs(context, 0, 2)  # lands everything, and warms up
        single = [run_epochs(context, epoch, epoch + 1) for epoch in range(2, 2 + given.single)]
        one = sorted(single)[len(single) // 2]
        at_once = run_epochs(context, 2 + given.single, given.epochs)
        print(
            f"{len(monitors)} monitors, {SITES} sites: {one:.2f} s an epoch one by one, {at_once:.3f} s in a backfill"
        )
        print(
            f"   {at_once / one:.3f} of it (at most {MOST_SHARE}); the driver's Python took {memory():.0f} MB",
            flush=True,
        )
        if given.long > given.epochs:
            before = memory()
            late = run_epochs(context, given.epochs, given.long)
            print(
                f"   on to {given.long} epochs: {late:.3f} s an epoch, {late / at_once:.2f} times; {memory():.0f} MB,"
            )
            print(f"   {memory() / before:.2f} times the memory")
    return int(at_once / one > MOST_SHARE)


if __name__ == "__main__":
    sys.exit(main())
