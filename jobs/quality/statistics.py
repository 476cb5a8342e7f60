"""What is counted of each site in each epoch, and the grid of sites and epochs that it makes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from monitoring_lib.config import Source

Flags = npt.NDArray[np.bool_]
GridNumbers = npt.NDArray[np.int64]
GridCells = tuple[GridNumbers, GridNumbers]
"""Cells of a grid: the numbers of their sites, and of their epochs counted from the range's first."""


BUCKETS = 32
"""Parts of a column's range that its distribution is counted in."""


def statistics_schema(nulls: Sequence[str], placements: int = 0, drifting: Sequence[str] = ()) -> pa.Schema:
    """One row a (site, epoch) with events; `least` and `most` are values as stored, times the scale, if asked for."""
    whole = [pa.field(name, pa.int64()) for name in ("events", "least", "most", *map(lacking, nulls))]
    texts = [pa.field(placement_column(at), pa.list_(pa.string())) for at in range(placements)]
    parts = [pa.field(bucket_column(name, at), pa.int64()) for name in drifting for at in range(BUCKETS)]
    return pa.schema([pa.field("epoch_start", pa.int64()), pa.field("site", pa.string()), *whole, *texts, *parts])


def bucket_column(column: str, at: int) -> str:
    """The column that counts the events in one part of another one's range."""
    return f"{column} {at}"


def placement_column(number: int) -> str:
    """The column that holds the texts by which some method places the site."""
    return f"placement {number}"


def lacking(column: str) -> str:
    """The column that counts the rows in which another one is missing."""
    return f"no {column}"


@dataclass(frozen=True)
class Grid:
    """The number of events of every site in the epochs of a range and in `before` epochs before it."""

    source: Source
    starts: range
    before: int
    sites: Sequence[str]
    counts: GridNumbers
    statistics: pa.Table
    """Of the range's epochs, as `statistics_schema` has it."""
    cells: GridCells
    """Where each row of the statistics lies."""
    numbers: dict[str, int] = field(repr=False)

    @property
    def events(self) -> GridNumbers:
        """Those of the range itself."""
        return self.counts[:, self.before :]

    @property
    def first(self) -> int:
        """The number of the range's first epoch, counted from the source's origin."""
        return self.source.clock.epoch_of(self.starts.start)

    def among(self, names: Iterable[str]) -> Flags:
        """Which of the sites are among the names."""
        flags = np.zeros(len(self.sites), bool)
        flags[[self.numbers[name] for name in names]] = True
        return flags


def grid_of(
    statistics: pa.Table, history: pa.Table, known: Iterable[str], source: Source, starts: range, before: int
) -> Grid:
    """Lays out what is counted; a cell without a row holds 0 events."""
    history_starts = history["epoch_start"].cast(pa.int64())
    sites = sorted({*known, *(name for rows in (statistics, history) for name in pc.unique(rows["site"]).to_pylist())})
    numbers = {site: number for number, site in enumerate(sites)}
    counts = np.zeros((len(sites), before + len(starts)), np.int64)

    def cells_of(sites_of: pa.ChunkedArray, starts_of: pa.ChunkedArray) -> GridCells:
        rows = pc.index_in(sites_of, value_set=pa.array(sites, pa.string())).to_numpy().astype(np.int64)
        return rows, (starts_of.to_numpy() - starts.start) // source.epoch

    rows, epochs = cells_of(history["site"], history_starts)
    wanted = (epochs >= -before) & (epochs < 0)
    counts[rows[wanted], epochs[wanted] + before] = history["events"].to_numpy()[wanted]
    cells = cells_of(statistics["site"], statistics["epoch_start"])
    counts[cells[0], cells[1] + before] = statistics["events"].to_numpy()
    return Grid(source, starts, before, sites, counts, statistics, cells, numbers)
