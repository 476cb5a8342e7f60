"""What a site tells: which numbers set which bits anew."""

from __future__ import annotations

from dataclasses import dataclass

from monitoring_lib.codec import Ints
from monitoring_lib.network import Letter


@dataclass(slots=True)
class NewBits(Letter, tag=1, version=1):
    """Numbers, in order, each as its distance from the one before; how many new bits each sets; these bits."""

    steps: Ints
    counts: Ints
    bits: Ints

    def __post_init__(self) -> None:
        if self.steps.ndim != 1 or self.counts.shape != self.steps.shape or self.bits.ndim != 1:
            raise ValueError("steps, counts: as many of each expected, in one dimension")
        for values, least in ((self.steps, 0), (self.counts, 1), (self.bits, 0)):
            if len(values) and (values.min() < least or values.max() > 1 << 40):
                raise ValueError(f"steps, counts, bits: one is below {least} or above 2^40")
        if self.counts.sum() != len(self.bits):
            raise ValueError(f"bits: {self.counts.sum()} expected, found {len(self.bits)}")

    @property
    def entries(self) -> int:
        return len(self.bits)
