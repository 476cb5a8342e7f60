"""What sites and coordinator tell each other about the sample."""

from __future__ import annotations

from dataclasses import dataclass

from monitoring_lib.codec import Ints, Names
from monitoring_lib.network import Letter, NamesLetter


@dataclass(slots=True)
class Increments(Letter, tag=1, version=1):
    """From a site: by how much its counts have grown since it last told them, and the level it samples at."""

    level: int
    names: Names
    increments: Ints

    def __post_init__(self) -> None:
        if self.increments.shape != (len(self.names),):
            raise ValueError(f"increments: {len(self.names)} expected, one a name")

    @property
    def entries(self) -> int:
        return max(len(self.names), 1)


@dataclass(slots=True)
class SampleLevel(Letter, tag=2, version=1):
    """From the coordinator: only items that reach this level are sampled."""

    level: int


@dataclass(slots=True)
class Totals(NamesLetter, tag=3, version=1):
    """From the coordinator: the counts over all sites, as far as it was told of them."""

    names: Names
    totals: Ints

    def __post_init__(self) -> None:
        if self.totals.shape != (len(self.names),):
            raise ValueError(f"totals: {len(self.names)} expected, one a name")
