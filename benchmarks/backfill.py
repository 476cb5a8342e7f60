"""A backfill against epochs one by one: `python -m benchmarks.backfill [--epochs 48] [--single 4] [--long 0]`.

30 sites and all monitors of conf. `--single` epochs are run one by one, each a process's work with tables opened anew;
then the rest of `--epochs` at once. Seconds an epoch, by the clock, warm, beside one Spark Connect server; then the
most memory that the driver's Python took. `--long 2000` goes on to so many epochs, and compares the seconds an epoch of
its first and of its second half, and the most memory until then. `--epochs 288` is the full size. Ends with 1 where a
backfilled epoch takes more than a tenth, or where the second half takes more.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from benchmarks._deployment import deployment
from jobs.command.chunks import AHEAD, EpochChunk
from jobs.command.run import run
from jobs.epoch.context import Context
from jobs.epoch.handover import Handover

MOST_SHARE = 0.1
MOST_GROWTH = 1.2
"""Of seconds and of memory, from the first half of a long backfill to the second."""
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


def run_epochs(
    context: Context, first: int, last: int, done: Callable[[EpochChunk], None] = lambda chunk: None
) -> float:  # fmt: skip
    """Seconds an epoch."""
    fresh = Context(context.config, context.home)
    fresh.__dict__["session"] = context.session
    clock = context.config.source("cdn").clock
    begun = time.perf_counter()
    run(fresh, Handover.begin("cdn", clock, clock.start_of(first), clock.start_of(last), []), done)
    return (time.perf_counter() - begun) / (last - first)


@dataclass
class Course:
    """How a long backfill goes on: the epochs sealed after each chunk, the seconds until then, the memory."""

    context: Context
    first: int
    begun: float = field(default_factory=time.perf_counter)
    chunks: list[tuple[int, float, float]] = field(default_factory=list)

    def note(self, chunk: EpochChunk) -> None:
        sealed = self.context.config.source("cdn").clock.epoch_of(chunk.end)
        self.chunks.append((sealed, time.perf_counter() - self.begun, memory()))
        print(f"   up to epoch {sealed}: {self.chunks[-1][1]:.0f} s, {memory():.0f} MB", flush=True)

    def growth(self) -> tuple[float, float]:
        """Seconds an epoch of the second half against the first, and the memory at the end against that of its half."""
        if len(self.chunks) < 2:
            return 1.0, 1.0
        # Whole stretches of the epochs that one Spark job summarises: its seconds are those of all of them.
        half = next(at for at, (sealed, _, _) in enumerate(self.chunks) if sealed - self.first >= self._middle())
        (middle, early, before), (end, late, after) = self.chunks[half], self.chunks[-1]
        return ((late - early) / (end - middle)) / (early / (middle - self.first)), after / before

    def _middle(self) -> int:
        half = (self.chunks[-1][0] - self.first) // 2
        return half // AHEAD * AHEAD or half


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
        growth = 1.0, 1.0
        if given.long > given.epochs:
            course = Course(context, given.epochs)
            late = run_epochs(context, given.epochs, given.long, course.note)
            growth = course.growth()
            print(f"   on to {given.long}: {late:.3f} s an epoch, {late / one:.3f} of one by one; {memory():.0f} MB")
            print(f"   second half against the first: {growth[0]:.2f} of seconds, {growth[1]:.2f} of memory")
    return int(at_once / one > MOST_SHARE or max(growth) > MOST_GROWTH)


if __name__ == "__main__":
    sys.exit(main())
