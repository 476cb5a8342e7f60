"""The traces that `benchmarks.topk` runs over, as counts by epoch and site."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from monitoring_lib.epochs import parse_duration
from monitoring_lib.hashing import hash_integers
from monitoring_lib.synopses.counts import Counts

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
_SECOND = 1_000_000


@dataclass(frozen=True)
class Trace:
    """A file, how long its epochs are, what is summed, and the questions asked of it."""

    name: str
    file: str
    epoch: str
    k: int
    windows: tuple[int | None, ...]
    """In epochs; None: growing."""
    signed: bool = False
    split_over: int = 0
    """Sites that rows are dealt to by a hash of their number, where the file has no site."""

    @property
    def path(self) -> Path:
        return FOLDER / self.file

    def epochs(self) -> Iterator[dict[str, Counts]]:
        """Site to counts, for each epoch from the first with an event on."""
        rows = pd.read_csv(self.path, dtype={"item": "string[pyarrow]", "site": "string[pyarrow]"})
        epochs = self._times(rows["time"]) // parse_duration(self.epoch)
        epochs -= epochs.min()
        if self.split_over:
            numbers = (hash_integers(np.arange(len(rows))) % np.uint64(self.split_over)).astype(np.int64)
            site_names = [f"site-{number:02}" for number in range(self.split_over)]
        else:
            numbers, found = pd.factorize(rows["site"], sort=True)
            site_names = [str(site) for site in found]
        items, item_names = pd.factorize(rows["item"].fillna(""), sort=True)
        names = [str(item) for item in item_names]
        keys = (epochs * len(site_names) + numbers) * len(names) + items
        pairs, where = np.unique(keys, return_inverse=True)
        weights = rows["value"].to_numpy(np.int64) if self.signed else np.ones(len(rows), np.int64)
        sums = np.zeros(len(pairs), np.int64)
        np.add.at(sums, where, weights)
        pairs, sums = pairs[sums != 0], sums[sums != 0]
        groups, starts = np.unique(pairs // len(names), return_index=True)
        stops = [*starts[1:].tolist(), len(pairs)]
        by_epoch: list[dict[str, Counts]] = [{} for _ in range(int(epochs.max()) + 1)]
        for group, start, stop in zip(groups.tolist(), starts.tolist(), stops, strict=True):
            epoch, site = divmod(group, len(site_names))
            listed = (pairs[start:stop] % len(names)).tolist()
            by_epoch[epoch][site_names[site]] = Counts([names[item] for item in listed], sums[start:stop])
        yield from by_epoch

    def _times(self, column: pd.Series[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        if pd.api.types.is_numeric_dtype(column):
            return (column.to_numpy(np.float64) * _SECOND).astype(np.int64)
        times = pd.to_datetime(column, utc=True, format="ISO8601").astype("datetime64[us, UTC]")
        return times.astype(np.int64).to_numpy()


TRACES = (
    Trace("twitter", "twitter_cache_cluster52_1M.csv.xz", "10s", 20, (None, 6), split_over=16),
    Trace("flights", "flights_2001_jan-apr.csv.xz", "1d", 10, (None, 7)),
    Trace("retail", "retail_2009-12_2010-11.csv.xz", "1d", 10, (None, 7), signed=True),
    Trace("zeek", "zeek_dns_wrccdc_2018-03-24.csv.xz", "1m", 10, (None, 5)),
    Trace("wiki", "wiki_edits_2015-09-12.csv.gz", "1h", 10, (None,)),
)
