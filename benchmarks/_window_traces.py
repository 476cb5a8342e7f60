"""The traces of `benchmarks.windows`, by epoch and site."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from monitoring_lib.codec import Names
from monitoring_lib.hashing import hash_integers

TRACES = Path(__file__).resolve().parents[2] / "shared" / "data"


class Trace(NamedTuple):
    """Events in the order of their ticks."""

    ticks: Any
    items: Any
    """Each item as the place of its name."""
    names: list[str]
    sites: Any
    """Each site as the place of its name."""
    site_names: list[str]

    def dealt(self, sites: int) -> Trace:
        """The same events at so many sites, by a hash of the event's number."""
        dealt = (hash_integers(np.arange(len(self.ticks))) % np.uint64(sites)).astype(np.int64)
        return self._replace(sites=dealt, site_names=[f"s{number:03}" for number in range(sites)])

    def first(self, events: int) -> Trace:
        return self._replace(ticks=self.ticks[:events], items=self.items[:events], sites=self.sites[:events])

    def until(self, tick: int) -> Trace:
        return self.first(int(np.searchsorted(self.ticks, tick)))

    def by_epoch(self, make: Callable[[Any, Names, Any], Any], ticks: int = 1) -> list[dict[str, Any]]:
        """Of each epoch of so many ticks what each site counted: ticks, items and their numbers."""
        columns = np.stack([self.ticks // ticks, self.sites, self.ticks, self.items])
        rows, counts = np.unique(columns, axis=1, return_counts=True)
        found: list[dict[str, Any]] = [{} for _ in range(int(rows[0].max()) + 1)]
        starts = np.flatnonzero(np.r_[True, (np.diff(rows[:2], axis=1) != 0).any(axis=0)])
        for start, end in zip(starts, [*starts[1:], rows.shape[1]], strict=True):
            names = Names([self.names[item] for item in rows[3, start:end]])
            site = self.site_names[rows[1, start]]
            found[rows[0, start]][site] = make(rows[2, start:end].copy(), names, counts[start:end])
        return found


def twitter() -> Trace:
    """Ticks are seconds; all at one site."""
    table = _read("twitter_cache_cluster52_1M.csv.xz", {"time": pa.int64(), "item": pa.string()})
    ticks = table["time"].to_numpy()
    items, names = _places(table["item"])
    return Trace(ticks - ticks[0], items, names, np.zeros(len(ticks), np.int64), ["s000"])


def flights() -> Trace:
    """Ticks are hours from the start of 2001; items are destinations, sites airports of origin."""
    columns = {"time": pa.timestamp("s"), "site": pa.string(), "item": pa.string()}
    table = _read("flights_2001_jan-apr.csv.xz", columns).sort_by("time")
    seconds = pc.subtract(table["time"], pa.scalar(np.datetime64("2001-01-01", "s"))).cast(pa.int64()).to_numpy()
    items, names = _places(table["item"])
    sites, site_names = _places(table["site"])
    return Trace(seconds // 3600, items, names, sites, site_names)


def _read(name: str, types: dict[str, Any]) -> pa.Table:
    with lzma.open(TRACES / name) as packed:
        return csv.read_csv(packed, convert_options=csv.ConvertOptions(column_types=types, include_columns=list(types)))


def _places(column: Any) -> tuple[Any, list[str]]:
    names, places = np.unique(column.to_numpy(zero_copy_only=False).astype(str), return_inverse=True)
    return places, names.tolist()
