"""The level of an item: how deep into the sampling it stays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.hashing import SPARK_SEED, hash_strings
from monitoring_lib.names import Names
from monitoring_lib.synopses.hashes import seeded
from monitoring_lib.tally import Tally

DEEPEST = 63


def reaching(names: Sequence[str], level: int, seed: int) -> NDArray[np.bool_]:
    """Whether each item's hash ends in at least `level` zero bits: true with probability 2^-level."""
    if level == 0:
        return np.ones(len(names), np.bool_)
    hashes = seeded(hash_strings(Names(names).column, SPARK_SEED), seed)
    return np.asarray((hashes & np.uint64((1 << level) - 1)) == 0)


def raise_to(level: int, seed: int, counted: Tally, *more: Tally) -> None:
    """Drops every item below the level from tallies of items, of which the first has all."""
    names = sorted(counted)
    gone = [name for name, stays in zip(names, reaching(names, level, seed), strict=True) if not stays]
    for tally in (counted, *more):
        tally.drop_all(gone)


def fitting_level(names: Iterable[str], level: int, capacity: int, seed: int) -> int:
    """The least level from this one on that at most `capacity` of the items reach."""
    listed = list(names)
    while len(listed) > capacity and level < DEEPEST:
        level += 1
        kept = reaching(listed, level, seed)
        listed = [name for name, stays in zip(listed, kept, strict=True) if stays]
    return level
