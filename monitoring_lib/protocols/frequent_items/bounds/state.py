"""Bounds: what the nodes remember."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from monitoring_lib.codec import Floats, Image, Names


@dataclass(slots=True)
class BoundsNodeState(Image, tag=2, version=1):
    """A site, or an inner node: nothing but its name."""

    node: str


@dataclass(slots=True)
class BoundsRootState(Image, tag=3, version=1):
    """The decayed counts of the listed items, how much each lacks at most, and what an unlisted item has at most.

    ``drift`` is how far these doubles can be off by rounding.
    """

    period: int = 0
    total: float = 0.0
    drift: float = 0.0
    unlisted: float = 0.0
    names: Names = field(default_factory=Names)
    counts: Floats = field(default_factory=lambda: np.empty(0))
    lacking: Floats = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        if not self.counts.shape == self.lacking.shape == (len(self.names),):
            raise ValueError(f"counts: {len(self.names)} expected, one a name, found shape {self.counts.shape}")
