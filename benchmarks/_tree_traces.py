"""The traces that `benchmarks.tree` runs over, as counts by epoch and site, decoded once a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks._topk_traces import FOLDER
from monitoring_lib.epochs import parse_duration
from monitoring_lib.hashing import hash_integers
from monitoring_lib.synopses.counts import Counts

_SECOND = 1_000_000
LEAVES = 216


@dataclass(frozen=True)
class Trace:
    """A file, how long its epochs are, and where its events happen."""

    name: str
    file: str
    epoch: str
    home: float | None = None
    """Where the file has no sites: the share of an item's events that happen at the item's own leaf."""
    value: str | None = None
    """A column to sum up instead of counting; only values above 0 count."""

    def epochs(self, most: int | None = None) -> Iterator[dict[str, Counts]]:
        """Site to counts, for each epoch from the first with an event on, at most so many."""
        rows = pd.read_csv(FOLDER / self.file, dtype={"item": "string[pyarrow]", "site": "string[pyarrow]"})
        weights = np.ones(len(rows), np.int64) if self.value is None else rows[self.value].to_numpy(np.int64)
        rows, weights = rows[weights > 0], weights[weights > 0]
        epochs = _times(rows["time"]) // parse_duration(self.epoch)
        epochs -= epochs.min()
        items, item_names = pd.factorize(rows["item"].fillna(""), sort=True)
        names = [str(item) for item in item_names]
        if self.home is None:
            sites, found = pd.factorize(rows["site"], sort=True)
            site_names = [str(site) for site in found]
        else:
            sites, site_names = _leaves(items, self.home), [f"leaf-{number:03}" for number in range(LEAVES)]
        keys = (epochs * len(site_names) + sites) * len(names) + items
        pairs, where = np.unique(keys, return_inverse=True)
        sums = np.bincount(where, weights).astype(np.int64)
        groups, starts = np.unique(pairs // len(names), return_index=True)
        stops = [*starts[1:].tolist(), len(pairs)]
        by_epoch: list[dict[str, Counts]] = [{} for _ in range(int(epochs.max()) + 1)]
        for group, start, stop in zip(groups.tolist(), starts.tolist(), stops, strict=True):
            epoch, site = divmod(group, len(site_names))
            listed = [names[item] for item in (pairs[start:stop] % len(names)).tolist()]
            by_epoch[epoch][site_names[site]] = Counts(listed, sums[start:stop])
        yield from by_epoch[:most]


def _leaves(items: NDArray[np.int64], home: float) -> NDArray[np.int64]:
    """A leaf for each event: at random, or the item's own with a probability of `home`."""
    drawn = hash_integers(np.arange(len(items)))
    own = hash_integers(items + 2**40) % np.uint64(LEAVES)
    at_home = (drawn >> np.uint64(40)) < np.uint64(int(home * 2**24))
    return np.where(at_home, own, drawn % np.uint64(LEAVES)).astype(np.int64)


def _times(column: pd.Series[str]) -> NDArray[np.int64]:
    if pd.api.types.is_numeric_dtype(column):
        return (column.to_numpy(np.float64) * _SECOND).astype(np.int64)
    times = pd.to_datetime(column, utc=True, format="ISO8601").astype("datetime64[us, UTC]")
    return times.astype(np.int64).to_numpy()


TWITTER = "twitter_cache_cluster52_1M.csv.xz"
TRACES = (
    Trace("Twitter at random", TWITTER, "1m", home=0.0),
    Trace("Twitter with home leaves", TWITTER, "1m", home=0.5),
    Trace("flights by hours", "flights_2001_jan-apr.csv.xz", "1h"),
    Trace("flights by days", "flights_2001_jan-apr.csv.xz", "1d"),
    Trace("retail by days", "retail_2009-12_2010-11.csv.xz", "1d", value="value"),
)
