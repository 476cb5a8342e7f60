"""Gradient: what a node tells its parent, and what the root tells all."""

from __future__ import annotations

from dataclasses import dataclass

from monitoring_lib.codec import Floats, Ints, Names
from monitoring_lib.network import Letter


class Listed:
    """Items with numbers, each once."""

    __slots__ = ()

    def __post_init__(self) -> None:
        names, counts = len(self.names), self.counts.shape  # type: ignore[attr-defined]  # of the letters below
        if counts != (names,):
            raise ValueError(f"counts: {names} expected, one a name, found shape {counts}")

    @property
    def entries(self) -> int:
        return len(self.names)  # type: ignore[attr-defined]  # of the letters below


@dataclass(slots=True)
class RawCounts(Listed, Letter, tag=1, version=1):
    """An epoch's counts below a node, all of them and exact."""

    total: int
    names: Names
    counts: Ints


@dataclass(slots=True)
class LoweredCounts(Listed, Letter, tag=2, version=1):
    """An epoch's counts below a node, each lowered by what the levels so far may lose; those above 0."""

    total: int
    names: Names
    counts: Floats


@dataclass(slots=True)
class SampleCounts(Listed, Letter, tag=3, version=1):
    """Raw counts of the epoch in which the commonality is measured.

    `weights` holds, for each item, the sum over the sites below where it is locally frequent of one over the number of
    items that are; `sites` counts the sites that have any.
    """

    total: int
    sites: int
    names: Names
    counts: Ints
    weights: Floats

    def __post_init__(self) -> None:
        if not self.counts.shape == self.weights.shape == (len(self.names),):
            raise ValueError(f"counts: {len(self.names)} expected, one a name, found shape {self.counts.shape}")


@dataclass(slots=True)
class Commonality(Letter, tag=4, version=1):
    """The measured commonality, from which every node knows the gradient."""

    commonality: float

    def __post_init__(self) -> None:
        if not 0 <= self.commonality <= 1:
            raise ValueError(f"commonality: {self.commonality} lies outside 0..1")
