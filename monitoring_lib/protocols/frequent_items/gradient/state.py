"""Gradient: what the nodes remember."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from monitoring_lib.codec import Floats, Image, Names


@dataclass(slots=True)
class GradientNodeState(Image, tag=5, version=1):
    """A site, or an inner node: the commonality once it was told, and which children it has told."""

    node: str
    commonality: float | None = None
    told: list[str] = field(default_factory=list)


@dataclass(slots=True)
class GradientRootState(Image, tag=6, version=1):
    """The decayed, lowered counts; `drift` is how far these doubles can be off by rounding."""

    period: int = 0
    total: float = 0.0
    drift: float = 0.0
    names: Names = field(default_factory=Names)
    counts: Floats = field(default_factory=lambda: np.empty(0))
    commonality: float | None = None
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.counts.shape != (len(self.names),):
            raise ValueError(f"counts: {len(self.names)} expected, one a name, found shape {self.counts.shape}")
