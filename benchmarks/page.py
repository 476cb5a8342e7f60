"""The page over a long chain: `python -m benchmarks.page [--epochs 10000]`.

Seals that many epochs of three monitors, each of another question, by the real steps without Spark, in ranges of many
epochs: most of the time goes there. Then `farwatch report` writes the page, and Chromium opens it five times. Prints
how long the report took, and with their limits its size and the first paint of the overview, the median of the five.
Ends with 1 where one is above its limit. Without Chromium and its driver the first paint is not measured.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tests.browser import NO_BROWSER, chromium, first_paints
from tests.jobs.sealed_home import SealedHome
from tests.jobs.sealed_run import Event

MOST_BYTES, LONGEST_PAINT = 8_000_000, 1_000.0
RANGE, SITES, ROWS, ITEMS = 500, 2, 8, 30
MONITORS = [
    {"name": "busiest", "question": "top-k", "source": "shop", "k": 5, "tolerance": 2, "reset": "1d"},
    {"name": "different", "question": "distinct-count", "source": "shop", "error": 0.2, "reset": "1d"},
    {"name": "hot", "question": "over-threshold", "source": "shop", "threshold": 8, "window": "6h"},
]


def events_of(epoch: int) -> list[Event]:
    draw = random.Random(epoch)
    return [(epoch, f"site {at % SITES}", f"item {int(draw.paretovariate(0.8)) % ITEMS}") for at in range(ROWS)]


def sealed(folder: Path, epochs: int) -> SealedHome:
    home = SealedHome(folder, MONITORS)
    for first in range(0, epochs, RANGE):
        last = min(first + RANGE, epochs)
        home.events = []  # of a range only its own are looked at: windows end by what is sealed
        home.land([event for epoch in range(first, last) for event in events_of(epoch)])
        home.run(first, last)
    return home


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--epochs", type=int, default=10_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        begun = time.perf_counter()
        home = sealed(Path(name), given.epochs)
        print(f"{given.epochs:,} epochs of {len(MONITORS)} monitors, made in {time.perf_counter() - begun:.0f} s")
        page = Path(name, "report.html")
        begun = time.perf_counter()
        done = home.command("report", "--out", str(page))
        if done.returncode:
            print(done.stdout, done.stderr)
            return 1
        size = page.stat().st_size
        print(f"   the report took {time.perf_counter() - begun:.1f} s")
        print(f"   its size: {size / 1e6:.1f} MB (at most {MOST_BYTES / 1e6:.0f})")
        if NO_BROWSER:
            print(f"   the first paint is not measured: {NO_BROWSER}")
            return int(size > MOST_BYTES)
        with chromium() as driver:
            took = median(first_paints(driver, page.as_uri(), "#main .cards tbody tr", times=5))
        print(f"   first paint of the overview: {took / 1e3:.2f} s (at most {LONGEST_PAINT / 1e3:g})")
    return int(size > MOST_BYTES or took > LONGEST_PAINT)


if __name__ == "__main__":
    sys.exit(main())
