"""The streams that `benchmarks.distinct` and `benchmarks.duplication` run over: time, site, item and partner."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from monitoring_lib.epochs import parse_duration
from monitoring_lib.hashing import hash_integers

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
_SECOND = 1_000_000


@dataclass(frozen=True)
class Stream:
    """A trace whose rows have `item` and `partner`, cut into epochs and sites."""

    name: str
    title: str
    epoch: str
    read: Callable[[], pd.DataFrame]

    def epochs(self) -> Iterator[dict[str, pa.Table]]:
        """Site to its events, for each epoch from the first with an event on."""
        rows = self.read()
        numbers = rows["microsecond"].to_numpy() // parse_duration(self.epoch)
        rows = rows.assign(epoch=numbers - numbers.min()).sort_values(["epoch", "site"], kind="stable")
        waiting = 0
        for epoch, of_epoch in rows.groupby("epoch", sort=True):
            for _ in range(waiting, int(epoch)):
                yield {}
            waiting = int(epoch) + 1
            yield {
                str(site): pa.table({"item": found["item"].astype(str), "partner": found["partner"].astype(str)})
                for site, found in of_epoch.groupby("site", sort=True)
            }

    def different_items(self) -> Iterator[dict[str, pa.Array]]:
        """Site to its different items, in increasing order, for each epoch."""
        for events in self.epochs():
            yield {site: pa.array(sorted(set(table["item"].to_pylist()))) for site, table in events.items()}


def synthetic(sites: int = 20, own: int = 2000, epochs: int = 200, seed: int = 1) -> pd.DataFrame:
    """The paper's (section 7.1): every site's stream is `own` items of its own, then the items of all sites in a random
    order of its own. Each stream is cut into epochs of equally many arrivals: 210, of which the first part fills 9.5.
    """
    rng, parts = np.random.default_rng(seed), []
    for site in range(sites):
        items = np.concatenate([site * own + rng.permutation(own), rng.permutation(sites * own)])
        at = np.arange(len(items)) * epochs // len(items)
        parts.append(pd.DataFrame({"microsecond": at * _SECOND, "site": f"site-{site:02}", "item": items}))
    return pd.concat(parts, ignore_index=True).assign(partner="")


def twitter() -> pd.DataFrame:
    rows = pd.read_csv(FOLDER / "twitter_cache_cluster52_1M.csv.xz", dtype={"item": str}, usecols=["time", "item"])
    site = (hash_integers(np.arange(len(rows))) % np.uint64(16)).astype(np.int64)
    return pd.DataFrame({"microsecond": rows["time"] * _SECOND, "site": site, "item": rows["item"], "partner": ""})


def zeek() -> pd.DataFrame:
    rows = pd.read_csv(FOLDER / "zeek_dns_wrccdc_2018-03-24.csv.xz", dtype={"item": str}).fillna({"item": ""})
    microsecond = (rows["time"].to_numpy() * _SECOND).astype(np.int64)
    return pd.DataFrame(
        {"microsecond": microsecond, "site": rows["site"], "item": rows["item"], "partner": rows["src"]}
    )


def zeek_pairs() -> pd.DataFrame:
    rows = zeek()
    return rows.assign(item=rows["partner"] + " " + rows["item"], partner="")


def wiki() -> pd.DataFrame:
    rows = pd.read_csv(FOLDER / "wiki_edits_2015-09-12.csv.gz", dtype={"item": str}, keep_default_na=False)
    times = pd.to_datetime(rows["time"], utc=True, format="ISO8601").astype("datetime64[us, UTC]").astype(np.int64)
    return pd.DataFrame({"microsecond": times, "site": rows["site"], "item": rows["item"], "partner": ""})


STREAMS = (
    Stream("synthetic", "20 sites, 2,000 items of their own, then all", "1s", synthetic),
    Stream("twitter", "cache requests dealt to 16 sites, 5 s", "5s", twitter),
    Stream("zeek", "pairs of source and query, 10 s", "10s", zeek_pairs),
    Stream("wiki", "edited pages, 60 s", "1m", wiki),
)
PAIRS = Stream("zeek", "queries and their sources, 10 s", "10s", zeek)
