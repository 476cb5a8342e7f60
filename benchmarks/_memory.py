"""The size of a window's sketch beside the exact table that would answer the same questions."""

from __future__ import annotations

import lzma
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from monitoring_lib.codec import Image, Ints, encode
from monitoring_lib.synopses.ecm import EcmSketch

WINDOW = 300
"""Seconds."""
CONFIDENCE = 0.999
ERRORS = (0.1, 0.05, 0.02, 0.01)
SPANS = (1, 10, 60, WINDOW)


@dataclass(slots=True)
class ExactTable(Image, tag=255):
    """How often each item occurred at each tick of the window, packed as tightly as a sketch is."""

    items: Ints
    ticks: Ints
    counts: Ints

    @classmethod
    def of(cls, items: NDArray[np.int64], ticks: NDArray[np.int64]) -> ExactTable:
        order = np.lexsort((items, ticks))
        items, ticks = items[order], ticks[order]
        starts = np.flatnonzero(np.r_[True, (np.diff(ticks) != 0) | (items[1:] != items[:-1])])
        return cls(items[starts], ticks[starts], np.diff(np.r_[starts, len(items)]))

    @property
    def size(self) -> int:
        return len(encode(self))


@dataclass(frozen=True)
class Footprint:
    """A sketch of one error over the trace, beside the exact table."""

    error: float
    sketch_bytes: int
    exact_bytes: int
    outside: int
    """Answers outside their bound, of all items and ranges asked for."""
    asked: int
    largest_error: float
    """The largest deviation of an estimate, as a share of the range's events."""


def read_twitter(folder: Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Items and ticks of the Twitter cache trace; its unsigned keys are read as signed ones, the same 64 bits."""
    options = csv.ConvertOptions(column_types={"item": pa.uint64()}, include_columns=["time", "item"])
    with lzma.open(folder / "twitter_cache_cluster52_1M.csv.xz") as file:
        table = csv.read_csv(file, convert_options=options)
    return table["item"].to_numpy().view(np.int64), table["time"].to_numpy()


def footprint(items: NDArray[np.int64], ticks: NDArray[np.int64], error: float) -> Footprint:
    """Feeds a sketch with the trace and asks it for every item of it, over several ranges."""
    sketch = EcmSketch.for_error(error, CONFIDENCE, WINDOW)
    sketch.update(items, ticks=ticks)
    names, numbers = np.unique(items, return_inverse=True)
    outside, largest = 0, 0.0
    for span in SPANS:
        inside = ticks > ticks[-1] - span
        exact = np.bincount(numbers[inside], minlength=len(names))
        low, high = sketch.bounds(names, span)
        outside += int(((exact < low) | (exact > high)).sum())
        largest = max(largest, float(abs(sketch.estimates(names, span) - exact).max()) / int(inside.sum()))
    window = ticks > ticks[-1] - WINDOW
    exact_bytes = ExactTable.of(items[window], ticks[window]).size
    return Footprint(error, sketch.size, exact_bytes, outside, len(SPANS) * len(names), largest)
