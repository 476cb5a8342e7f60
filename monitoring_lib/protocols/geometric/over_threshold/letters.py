"""Letters of `local-tests`. Entries count counters and names that cross alone; an item has one counter a row."""

from __future__ import annotations

from dataclasses import dataclass

from monitoring_lib.codec import Floats, Ints, Names
from monitoring_lib.network import Letter, NamesLetter


@dataclass(slots=True)
class Alarm(Letter, tag=1, version=2):
    """Items whose test fails at a site, and cells of its sketch that are full there and that nobody has named."""

    names: Names
    cells: Ints

    @property
    def entries(self) -> int:
        return len(self.names) + len(self.cells)


@dataclass(slots=True)
class FullCells(Letter, tag=5, version=1):
    """Cells that are full at some site, told to all."""

    cells: Ints

    @property
    def entries(self) -> int:
        return len(self.cells)


@dataclass(slots=True)
class Collect(NamesLetter, tag=2, version=1):
    """The coordinator asks every site for the counters of these items, and of no others."""

    names: Names


@dataclass(slots=True)
class CollectedCounters(Letter, tag=3, version=1):
    """The counters of the items asked for, item by item."""

    counts: Ints

    @property
    def entries(self) -> int:
        return len(self.counts)


@dataclass(slots=True)
class References(Letter, tag=4, version=1):
    """For each item the sums of its counters over all sites, and the sum of the sites' weights."""

    names: Names
    totals: Ints
    weights: Floats

    def __post_init__(self) -> None:
        self.names = Names(self.names)
        if self.weights.shape != (len(self.names),) or (len(self.names) and len(self.totals) % len(self.names)):
            raise ValueError("totals, weights: as many a name expected")

    @property
    def entries(self) -> int:
        return len(self.totals) + len(self.weights)
