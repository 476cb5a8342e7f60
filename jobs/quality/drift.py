"""Drift: how far a column's distribution at a site lies from that of the whole source in the epochs before.

Distributions are counted in parts of the column's range. The distance is the total variation: the share of rows that
would have to be others for the two to be the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from jobs.quality.site_checks import SiteCheck, between
from jobs.quality.statistics import BUCKETS, Grid, GridNumbers, bucket_column
from monitoring_lib.config import Drift

LEAST_EVENTS = 50
"""Events that a cell, and the history, must have before they are compared: a few are no distribution."""


def of_drift(grid: Grid, history: pa.Table) -> Iterator[SiteCheck]:
    """One check for each column that is watched."""
    for column, drift in sorted(grid.source.quality.drift.items()):
        yield _drifted(grid, history, column, drift)


def buckets_of(statistics: pa.Table) -> list[list[tuple[str, int]]]:
    """Of each cell the parts that have events, as the table `arrivals` keeps them for later epochs."""
    columns = {name for name in statistics.column_names if name.rpartition(" ")[2].isdigit() and _is_bucket(name)}
    counts = {name: statistics[name].to_pylist() for name in sorted(columns)}
    return [[(name, found[at]) for name, found in counts.items() if found[at]] for at in range(statistics.num_rows)]


def _is_bucket(name: str) -> bool:
    return not name.startswith(("placement ", "counted ", "no "))


def _drifted(grid: Grid, history: pa.Table, column: str, drift: Drift) -> SiteCheck:
    names = [bucket_column(column, at) for at in range(BUCKETS)]
    own = np.stack([grid.statistics[name].to_numpy() for name in names], axis=1).astype(np.float64)
    pooled = _pooled(grid, history, names, own)
    sites, epochs = grid.cells
    ends = epochs + grid.before
    before = np.concatenate([np.zeros((1, BUCKETS)), np.cumsum(pooled, axis=0)])
    usual = before[ends] - before[np.maximum(ends - drift.history, 0)]
    rows, known = own.sum(axis=1), usual.sum(axis=1)
    judged = (rows >= LEAST_EVENTS) & (known >= LEAST_EVENTS)
    distance = np.full(len(rows), np.nan)
    shares = own[judged] / rows[judged, None] - usual[judged] / known[judged, None]
    distance[judged] = np.abs(shares).sum(axis=1) / 2

    def words(at: int) -> tuple[str, str]:
        observed = f"{distance[at]:.3g}"
        return observed, (
            f"the distribution of {column} differs by {observed} from that of the source's last {drift.history:,}"
            f" epochs, where {drift.most:g} is allowed"
        )

    return between((sites, epochs), f"drift of {column}", distance, words, grid.source.quality.severity.drift,
                   most=drift.most)  # fmt: skip


def _pooled(grid: Grid, history: pa.Table, names: list[str], own: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """By epoch, those before the range first, the counts of all sites together."""
    pooled = np.zeros((grid.before + len(grid.starts), BUCKETS))
    np.add.at(pooled, grid.cells[1] + grid.before, own)
    if "buckets" not in history.column_names:
        return pooled
    starts: GridNumbers = history["epoch_start"].cast(pa.int64()).to_numpy()
    at = {name: number for number, name in enumerate(names)}
    for start, parts in zip(starts.tolist(), history["buckets"].to_pylist(), strict=True):
        epoch = (start - grid.starts.start) // grid.source.epoch + grid.before
        if 0 <= epoch < grid.before:
            for name, count in parts or ():
                if name in at:
                    pooled[epoch, at[name]] += count
    return pooled
