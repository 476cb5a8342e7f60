"""What a site tells: which items set which bits anew."""

from __future__ import annotations

from dataclasses import dataclass

from monitoring_lib.codec import Ints, Names
from monitoring_lib.network import Letter


@dataclass(slots=True)
class NewBits(Letter, tag=1, version=1):
    """Items by name, how many bits each sets that the site had not told of, and these bits, item after item."""

    names: Names
    counts: Ints
    bits: Ints

    def __post_init__(self) -> None:
        if self.counts.shape != (len(self.names),) or self.bits.ndim != 1:
            raise ValueError(f"counts: {len(self.names)} expected, one a name")
        if len(self.counts) and (self.counts.min() < 1 or self.counts.max() > len(self.bits)):
            raise ValueError("counts: each name has a bit at least")
        if self.counts.sum() != len(self.bits) or (len(self.bits) and self.bits.min() < 0):
            raise ValueError(f"bits: {self.counts.sum()} of at least 0 expected, found {len(self.bits)}")

    @property
    def entries(self) -> int:
        return len(self.bits)
