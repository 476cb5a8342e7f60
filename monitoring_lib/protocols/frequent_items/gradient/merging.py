"""Gradient: what the lists of several children say together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.network import Delivery, Letter
from monitoring_lib.protocols.frequent_items.gradient.letters import LoweredCounts, RawCounts, SampleCounts
from monitoring_lib.protocols.frequent_items.gradient.lowering import AMOUNTS, Algorithm, lowered
from monitoring_lib.protocols.frequent_items.lists import Union
from monitoring_lib.protocols.frequent_items.nodes import total_of


@dataclass(frozen=True, slots=True)
class MergedCounts:
    """The children's counts, added up; whole numbers as long as no child has lowered any."""

    total: int
    union: Union
    counts: NDArray[Any]
    letters: tuple[RawCounts | LoweredCounts | SampleCounts, ...]

    @classmethod
    def of(cls, node: str, inbox: Sequence[Delivery]) -> MergedCounts:
        letters = tuple(
            delivery.letter
            for delivery in inbox
            if isinstance(delivery.letter, RawCounts | LoweredCounts | SampleCounts)
        )
        total = total_of(node, (letter.total for letter in letters))
        union = Union.of([letter.names for letter in letters])
        return cls(total, union, union.sums([letter.counts for letter in letters], total), letters)

    def sample(self) -> SampleCounts | None:
        """The same as a sample of all sites below, if every child sent one."""
        samples = [letter for letter in self.letters if isinstance(letter, SampleCounts)]
        if not samples or len(samples) < len(self.letters):
            return None
        weights = self.union.sums([letter.weights for letter in samples])
        names, places = self.union.chosen(np.ones(len(self.counts), np.bool_))
        sites = sum(letter.sites for letter in samples)
        return SampleCounts(self.total, sites, names, self.counts[places], weights[places])

    def letter(self, algorithm: Algorithm, share: Fraction) -> Letter:
        """Lowered by at most this share of the total."""
        kept, left = lowered(self.counts, AMOUNTS[algorithm](self.counts, share, self.total), self.total)
        names, places = self.union.chosen(kept)
        if left.dtype.kind == "i":
            return RawCounts(self.total, names, left[places])
        return LoweredCounts(self.total, names, left[places])
