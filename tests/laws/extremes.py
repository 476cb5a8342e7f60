"""What the laws of extreme numbers feed synopses with, and how they ask them: one way for every kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from monitoring_lib.synopses._apache import ApacheSketch
from monitoring_lib.synopses._ecm import Ecm
from monitoring_lib.synopses._window_counter import WindowCounter
from monitoring_lib.synopses.base import Bound
from monitoring_lib.synopses.count_min import CountMin
from monitoring_lib.synopses.distinct_sample import DistinctSample
from monitoring_lib.synopses.dyadic import DyadicEcm
from monitoring_lib.synopses.dyadic_distinct import DyadicDistinct
from monitoring_lib.synopses.exact_set import ExactSet
from monitoring_lib.synopses.fm import FM
from monitoring_lib.synopses.fm_array import FmArray

EDGES = sorted(
    {0, 1, 5}
    | {edge + side for edge in (2**31, 2**32, 2**53, 2**60, 2**62, 2**63 - 1, 2**63) for side in (-1, 0, 1)}
    | {2**64 - 1, 2**64, 2**70}
)
"""Weights, ticks and items at and around the edges of what a word holds."""

DISTINCT = (FM, ApacheSketch, ExactSet, DistinctSample)


def forms(value: int) -> Iterator[Any]:
    """One number in every form that a caller may give it in."""
    yield [value]
    if 0 <= value < 2**64:
        yield np.array([value], np.uint64)
    if -(2**63) <= value < 2**63:
        yield np.array([value], np.int64)
    if -(2**31) <= value < 2**31:
        yield np.array([value], np.int32)


def by_count(synopsis: Any) -> bool:
    clock = synopsis.levels[0] if isinstance(synopsis, DyadicEcm) else synopsis
    return getattr(clock, "window", None) is not None and clock.window.basis == "count"


def offer(synopsis: Any, items: Any, weights: Any, ticks: Any) -> None:
    """Gives a synopsis one event, as far as its kind takes items, weights and ticks."""
    timed = {} if by_count(synopsis) else {"ticks": ticks}
    if isinstance(synopsis, WindowCounter):
        synopsis.update(weights, **timed)
    elif isinstance(synopsis, Ecm | DyadicEcm):
        synopsis.update(items, weights, **timed)
    elif isinstance(synopsis, FmArray | DyadicDistinct):
        synopsis.update(items, None, weights)
    else:
        synopsis.update(items, weights)


@dataclass
class Truth:
    """What a synopsis was given, in Python's integers."""

    events: list[tuple[int, int]] = field(default_factory=list)

    def take(self, item: int, weight: int) -> None:
        self.events.append((item, weight))

    def counts(self, last: int | None = None) -> Counter[int]:
        """How often each item occurred, among the last so many arrivals if told."""
        counts: Counter[int] = Counter()
        for item, weight in reversed(self.events):
            counted = weight if last is None else min(weight, last - counts.total())
            if counted:
                counts[item] += counted
        return counts

    def broken(self, synopsis: Any) -> list[str]:
        """Which answers about what was given are outside their bound. All ticks lie within the window."""
        counts = self.counts(synopsis.window.length if by_count(synopsis) else None)
        found: list[tuple[Bound, int]] = []
        if isinstance(synopsis, DISTINCT):
            found.append((synopsis.bound(0.997), len(counts)))
        elif isinstance(synopsis, WindowCounter):
            found.append((synopsis.bound(), counts.total()))
        elif isinstance(synopsis, DyadicEcm):
            found += [(synopsis.bound_range(item, item), count) for item, count in counts.items()]
        elif isinstance(synopsis, DyadicDistinct):
            found.append((synopsis.bound_rank(0, 0.997), int(0 in counts)))
        elif isinstance(synopsis, FmArray):
            found += [(synopsis.bound(item, 0.997), 1) for item in counts]
        else:
            found += [(synopsis.bound(item), count) for item, count in counts.items()]
        # Of a bound that collisions may break, the upper end holds always.
        collides = isinstance(synopsis, CountMin | Ecm | DyadicEcm)
        return [
            f"{exact} is not in {bound}"
            for bound, exact in found
            if not (exact <= bound.high if collides else bound.holds(exact))
        ]


def answers(synopsis: Any) -> Iterator[tuple[float, Bound]]:
    """Estimates with their bounds, of every kind that a synopsis has."""
    if isinstance(synopsis, DISTINCT):
        yield synopsis.estimate(), synopsis.bound(0.95)
        if isinstance(synopsis, DistinctSample):
            yield synopsis.estimate_unique(), synopsis.bound_unique(0.95)
    elif isinstance(synopsis, WindowCounter):
        for span in (1, synopsis.window.length):
            yield synopsis.estimate(span), synopsis.bound(span)
    elif isinstance(synopsis, DyadicEcm):
        for last in (0, (1 << synopsis.bits) - 1):
            yield synopsis.estimate_range(0, last), synopsis.bound_range(0, last)
        synopsis.quantile(0.5)
    elif isinstance(synopsis, DyadicDistinct):
        yield synopsis.estimate_rank(1), synopsis.bound_rank(1)
        synopsis.estimate_quantile(0.5)
    elif isinstance(synopsis, FmArray):
        for item in (1, 2, 77):
            yield synopsis.estimate(item), synopsis.bound(item)
    elif hasattr(synopsis, "names"):  # exact counts answer by name
        yield synopsis.estimate("item 1 é"), synopsis.bound("item 1 é")
    else:
        for item in (1, 2, 77):
            yield synopsis.estimate(item), synopsis.bound(item)


def most(synopsis: Any) -> float:
    """The most that any answer can be, where the synopsis knows how much it was given."""
    clock = synopsis.levels[0] if isinstance(synopsis, DyadicEcm) else synopsis
    if hasattr(clock, "window"):
        return float(2 * clock.window.arrived + 1)
    return float(getattr(synopsis, "total", np.inf)) if not isinstance(synopsis, FmArray | DyadicDistinct) else np.inf


def mutations(plain: Any, rng: np.random.Generator) -> Iterator[Any]:
    """The plain content of an image with one field changed, each field in many ways."""
    if isinstance(plain, list):
        places = range(len(plain)) if len(plain) <= 7 else (0, len(plain) // 2, len(plain) - 1)
        for at, value in ((place, plain[place]) for place in places):
            for other in mutations(value, rng):
                yield [*plain[:at], other, *plain[at + 1 :]]
        if plain:
            yield plain[:-1]
            yield [*plain, plain[-1]]
    elif isinstance(plain, bool):
        yield not plain
    elif isinstance(plain, int):
        yield from {plain + 1, plain - 1, -plain, 0, -1, *EDGES} - {plain}
    elif isinstance(plain, float):
        yield from (0.0, -1.0, 1.0, 1e-300, 1e308, float("inf"), float("nan"))
    elif isinstance(plain, str):
        yield from ("", plain + "x", "time", "count")
    elif isinstance(plain, bytes):
        yield from _bytes_mutated(plain, rng)
    elif isinstance(plain, np.ndarray):
        yield from _arrays_mutated(plain, rng)


def _bytes_mutated(plain: bytes, rng: np.random.Generator) -> Iterator[bytes]:
    words = [np.float64(number).tobytes() for number in (-4.5e305, 1e300, np.nan, np.inf, 0.0, 1e-300)]
    words += [np.uint64(number).tobytes() for number in (0, 1, 2**31, 2**32, 2**62, 2**63, 2**64 - 1)]
    for at in range(0, max(1, min(len(plain) - 8, 24)), 4):
        for word in words:
            yield plain[:at] + word + plain[at + 8 :]
    # Only what stands before the entries: DataSketches 5.2.0 writes over foreign memory when it unpacks some forged
    # entries of a CPC, and takes the process with it.
    for at in rng.integers(0, min(len(plain), 32), 60).tolist():
        yield plain[:at] + bytes([plain[at] ^ (1 << int(rng.integers(8)))]) + plain[at + 1 :]
    yield plain[: len(plain) // 2]


def _arrays_mutated(plain: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    limits = np.iinfo(np.uint64 if plain.dtype.kind == "u" else np.int64)
    wide = plain.astype(limits.dtype)
    yield wide[:-1]
    if wide.size:
        yield wide[::-1].copy()
        for edge in [-1, *EDGES]:
            if limits.min <= edge <= limits.max:
                changed = wide.copy()
                changed.flat[rng.integers(changed.size)] = edge
                yield changed
                yield np.full_like(wide, edge)
