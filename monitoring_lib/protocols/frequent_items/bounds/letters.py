"""Bounds: what a node tells its parent."""

from __future__ import annotations

from dataclasses import dataclass

from monitoring_lib.codec import Ints, Names
from monitoring_lib.network import NamesLetter


@dataclass(slots=True)
class Bounded(NamesLetter, tag=1, version=1):
    """An epoch's counts below a node, of the items that may matter.

    ``total`` is exact. An unlisted item has at most ``unlisted``. A listed one has between its count and ``lacking``
    more where counts are sums, between ``lacking`` less and its count where they are upper bounds.
    """

    total: int
    lacking: int
    unlisted: int
    names: Names
    counts: Ints

    def __post_init__(self) -> None:
        if self.counts.shape != (len(self.names),):
            raise ValueError(f"counts: {len(self.names)} expected, one a name, found shape {self.counts.shape}")
        if min(self.total, self.lacking, self.unlisted) < 0:
            raise ValueError("total, lacking and unlisted are never below 0")
