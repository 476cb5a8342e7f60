"""Letters of this question's methods. Entries count the numbers that cross, a name with its count as one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from monitoring_lib.codec import Floats, Ints, Names
from monitoring_lib.network import Letter
from monitoring_lib.protocols.geometric.self_join.growth import Growth


def _none() -> Floats:
    return np.empty(0)


@dataclass(slots=True)
class Array(Letter, tag=1, version=1):
    """An array: counts by name, or those of a sketch's cells; of all, or of those above 0, which `cells` then names."""

    names: Names
    cells: Ints
    counts: Ints

    def __post_init__(self) -> None:
        self.names = Names(self.names)
        named = max(len(self.names), len(self.cells))
        if self.counts.ndim != 1 or self.cells.ndim != 1 or (named and self.counts.shape != (named,)):
            raise ValueError("counts: one a name, one a cell, or those of all cells")

    @property
    def entries(self) -> int:
        return len(self.cells) + len(self.counts)


@dataclass(slots=True)
class Fetch(Letter, tag=2, version=1):
    """The coordinator asks for the arrays."""


@dataclass(slots=True)
class Reference(Letter, tag=3, version=2):
    """What all sites compare with from now on: the sum of the arrays, or of its rows the norms alone.

    `weights` is the sum of the sites' weights: a site takes its share of the leeway by its own.
    """

    array: Array | None
    norms: Floats
    weights: float
    growth: Growth

    @property
    def entries(self) -> int:
        grows = 2 if self.growth.rate else 0
        return 1 + len(self.norms) + grows + (0 if self.array is None else self.array.entries)


@dataclass(slots=True)
class Welcome(Letter, tag=10, version=1):
    """To a site that joins: what the others compare with. Its own array counts as empty at that synchronisation."""

    reference: Reference
    normal: Floats

    @property
    def entries(self) -> int:
        return self.reference.entries + len(self.normal)


@dataclass(slots=True)
class TestValues(Letter, tag=4, version=1):
    """What a site's tests compare with 0, with its slack: of the upper one, of the lower ones, or of both.

    Sent by a site whose tests fail, with neither where there was nothing at all before; and by one that is asked.
    """

    upper: float | None = None
    lower: Floats = field(default_factory=_none)

    @property
    def entries(self) -> int:
        return max(1, (self.upper is not None) + len(self.lower))


@dataclass(slots=True)
class Probe(Letter, tag=5, version=1):
    """The coordinator asks a few sites for the value of their upper test, or of their lower ones."""

    upper: bool


@dataclass(slots=True)
class Balance(Letter, tag=6, version=1):
    """What a site's value with its slack is to be, for each unit of the site's weight."""

    upper: float | None = None
    lower: Floats = field(default_factory=_none)

    @property
    def entries(self) -> int:
        return (self.upper is not None) + len(self.lower)


@dataclass(slots=True)
class Survey(Letter, tag=7, version=1):
    """The coordinator asks every site for its norms, row by row."""


@dataclass(slots=True)
class Norms(Letter, tag=8, version=1):
    """What a site's upper and lower tests are made of, row by row, without slack."""

    upper: Floats
    lower: Floats

    @property
    def entries(self) -> int:
        return len(self.upper) + len(self.lower)


@dataclass(slots=True)
class Aim(Letter, tag=9, version=1):
    """Another normal for the upper test of every site, and what its values are to be for each unit of weight."""

    normal: Floats
    upper: float
    lower: Floats

    @property
    def entries(self) -> int:
        return len(self.normal) + 1 + len(self.lower)
