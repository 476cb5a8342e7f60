"""The level of an item: how deep into the sampling it stays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.hashing import SPARK_SEED, Hashes, hash_strings
from monitoring_lib.methods import Ask
from monitoring_lib.names import Names
from monitoring_lib.protocols.duplication.intervals import least_filled
from monitoring_lib.synopses.hashes import seeded
from monitoring_lib.tally import Tally

_DOUBLINGS = 63
_MOST_STEPS = 12
_SWAPS = ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F))


@dataclass(frozen=True)
class Levels:
    """An item reaches a level with probability ``2 ** (-level / steps)``, and then all levels below it.

    With one step, the paper's way, a rise halves the sample. Bounds of a high confidence need a fuller sample to be
    narrow enough: then it takes more steps to halve it.
    """

    seed: int
    steps: int

    @classmethod
    def of(cls, ask: Ask) -> Levels:
        filled = least_filled(ask.confidence)
        steps = next((steps for steps in range(1, _MOST_STEPS) if 0.5 ** (1 / steps) >= filled), _MOST_STEPS)
        return cls(ask.options.seed, steps)

    def chance(self, level: int) -> float:
        return float(0.5 ** (level / self.steps))

    def reaching(self, names: Sequence[str], level: int) -> NDArray[np.bool_]:
        """Whether each item's hash, read from its last bit on as a fraction, is below the chance of the level."""
        if level == 0:
            return np.ones(len(names), np.bool_)
        hashes = seeded(hash_strings(Names(names).column, SPARK_SEED), self.seed)
        return np.asarray(_reversed(hashes) < np.uint64(int(2.0**64 * self.chance(level))))

    def raise_to(self, level: int, counted: Tally, *more: Tally) -> None:
        """Drops every item below the level from tallies of items, of which the first has all."""
        names = sorted(counted)
        gone = [name for name, stays in zip(names, self.reaching(names, level), strict=True) if not stays]
        for tally in (counted, *more):
            tally.drop_all(gone)

    def fitting(self, names: Iterable[str], level: int, capacity: int) -> int:
        """The least level from this one on that at most `capacity` of the items reach."""
        listed = list(names)
        while len(listed) > capacity and level < _DOUBLINGS * self.steps:
            level += 1
            kept = self.reaching(listed, level)
            listed = [name for name, stays in zip(listed, kept, strict=True) if stays]
        return level


def _reversed(hashes: Hashes) -> Hashes:
    """The 64 bits of each hash, the last one first."""
    for shift, mask in _SWAPS:
        by, low = np.uint64(shift), np.uint64(mask)
        hashes = ((hashes >> by) & low) | ((hashes & low) << by)
    return hashes.byteswap()
