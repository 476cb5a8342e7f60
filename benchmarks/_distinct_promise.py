"""How often the bounds of distinct-count hold, over seeds, at every number of items: a part of `benchmarks.distinct`.

Without a lag all methods and encodings publish what one sketch of all items says (a test holds them to it), so one
sketch is enough here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from monitoring_lib.epochs import Window
from monitoring_lib.hashing import hash_integers
from monitoring_lib.methods import Ask
from monitoring_lib.promises import most_broken
from monitoring_lib.protocols import find_method
from monitoring_lib.protocols.distinct_count.question import DistinctCountParams, limits
from monitoring_lib.protocols.distinct_count.sketched.bitmaps import BitmapForm
from monitoring_lib.synopses.fm import FM

ERROR, CONFIDENCE, RUNS = 0.1, 0.95, 400
NUMBERS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000)
LARGE, FIRST, MOST_ASTRAY = 1024, 20, 400
"""Bitmaps of the second table; from so many items on; one run in so many may leave the error."""


@dataclass
class Promise:
    """Of so many runs, at each number of items how many broke the bounds, and how many ever left the error."""

    runs: int
    bitmaps: int
    broken: dict[int, int]
    astray: int

    @property
    def allowed(self) -> int:
        return int(most_broken(self.runs, CONFIDENCE))

    @property
    def found(self) -> float:
        """The share of broken runs that would be noticed with a probability of 99 % at each number."""
        shares = np.linspace(0, 1, 1001)
        return float(shares[np.argmax(binom.sf(self.allowed, self.runs, shares) >= 0.99)])

    @property
    def most_astray(self) -> int:
        return self.runs // MOST_ASTRAY


def judged(runs: int) -> Promise:
    kind = find_method("distinct-count", "no-sharing")
    ask = Ask(DistinctCountParams(error=ERROR), kind.Options(), Window(), confidence=CONFIDENCE)
    form, broken, astray = BitmapForm(ask), dict.fromkeys(NUMBERS, 0), 0
    items = hash_integers(np.arange(NUMBERS[-1]), 42)
    for seed in range(runs):
        small, large = FM.of_size(form.size, seed=seed), FM.of_size(LARGE, seed=seed)
        taken, left = 0, False
        for number in NUMBERS:
            for sketch in (small, large):
                sketch.update_hashes(items[taken:number])
            taken = number
            estimate, low, high = form.bounds(small.bitmaps, 0.0)
            least, most = limits(ask, estimate)
            broken[number] += not max(low, least) <= number <= min(high, most)
            left = left or (number >= FIRST and abs(large.estimate() - number) > ERROR * number)
        astray += left
    return Promise(runs, form.size, broken, astray)


def lines(kept: Promise) -> list[str]:
    return [
        f"Error {ERROR:g} at confidence {CONFIDENCE:g}, {kept.bitmaps} bitmaps (the fewest), {kept.runs} seeds: at each"
        f" number of items, the runs whose bounds missed it. {kept.allowed} are allowed; were {kept.found:.0%} of all"
        f" runs broken instead of {1 - CONFIDENCE:.0%}, that would be noticed at each number with a probability of"
        " 99 %.", "",
        "| items | " + " | ".join(f"{number:,}" for number in kept.broken) + " |",
        "|---|" + "---:|" * len(kept.broken),
        "| broken | " + " | ".join(str(broken) for broken in kept.broken.values()) + " |", "",
        f"With {LARGE} bitmaps, {kept.runs - kept.astray} of {kept.runs} runs stayed within {ERROR:.0%} at all of these"
        f" numbers from {FIRST} on ({kept.runs - kept.most_astray} are asked for).",
    ]  # fmt: skip


def faults(kept: Promise) -> list[str]:
    missed = [f"{broken} of {kept.runs} runs missed {number} items" for number, broken in kept.broken.items()
              if broken > kept.allowed]  # fmt: skip
    if kept.astray > kept.most_astray:
        missed.append(f"{kept.astray} of {kept.runs} runs with {LARGE} bitmaps left the error")
    return missed
