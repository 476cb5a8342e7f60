"""Lossy counting in batches: the frequent items of a stream, rare ones pruned after each batch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from monitoring_lib.codec import Ints
from monitoring_lib.synopses._confidence import check_tolerance
from monitoring_lib.synopses._frequent import Frequent


@dataclass(slots=True)
class LossyCounting(Frequent, tag=40, version=1):
    """Counters of the items that may be frequent, each at most `lowered` below the exact count, always::

        exact - lowered <= estimate <= exact,   lowered <= tolerance * total

    A batch is counted exactly; then every count, old and new, is lowered by what `total` now allows, and
    those at or below 0 are dropped. So after one batch at most 1 / tolerance items are left. A merge sums
    counter by counter and lowers nothing, so it is exact: associative, and blind to order.

    Manjhi, Shkapenyuk, Dhamdhere and Olston, Finding (Recently) Frequent Items in Distributed Data Streams,
    section 2.1 and algorithm 2a without decay. Counts stay whole: of ``tolerance * total``, which may be a
    fraction, only the whole part is taken off, and the rest with a later batch.
    """

    MERGES_LOWER: ClassVar[bool] = False

    tolerance: float

    def __post_init__(self) -> None:
        Frequent.__post_init__(self)
        check_tolerance(self.tolerance)
        if self.lowered > self._allowed():
            raise ValueError(f"lowered: {self.lowered} is more than {self.tolerance} of {self.total}")

    @classmethod
    def for_error(cls, tolerance: float) -> LossyCounting:
        """The one with ``lowered <= tolerance * total``."""
        return cls(tolerance=tolerance)

    def mismatch(self, other: Self) -> str | None:
        if self.tolerance != other.tolerance:
            return f"tolerance: {self.tolerance} against {other.tolerance}"
        return Frequent.mismatch(self, other)

    def _allowed(self) -> int:
        return math.floor(Fraction(repr(self.tolerance)) * self.total)  # 0.29 of 100 is 29: no float's 28.99...

    def _least_excess(self) -> int:
        return self._allowed() - self.lowered

    def _excess(self, counts: Ints) -> int:
        return self._least_excess()
