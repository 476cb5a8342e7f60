"""Misra-Gries counters: the frequent items of a stream with a fixed number of counters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from monitoring_lib.codec import Ints
from monitoring_lib.synopses._confidence import check_tolerance
from monitoring_lib.synopses._frequent import Frequent


@dataclass(slots=True)
class MisraGries(Frequent, tag=41, version=1):
    """At most `capacity` counters, each at most `lowered` below the exact count, always::

        exact - lowered <= estimate <= exact,   lowered <= total / (capacity + 1)

    A batch or a merge that leaves more counters than fit takes the (capacity + 1)-th largest count off all of
    them and drops those at or below 0. Each time the same amount leaves capacity + 1 counters: hence the
    bound.

    Manjhi, Shkapenyuk, Dhamdhere and Olston, Finding (Recently) Frequent Items in Distributed Data Streams,
    algorithms 1b and 2b, in a form that does not depend on the order in which the synopses arrive.
    """

    MERGES_LOWER: ClassVar[bool] = True

    capacity: int

    def __post_init__(self) -> None:
        Frequent.__post_init__(self)
        if self.capacity < 1:
            raise ValueError(f"capacity: {self.capacity} is below 1")
        if len(self.counts) > self.capacity:
            raise ValueError(f"counts: {len(self.counts)} are more than the capacity of {self.capacity}")
        if self.lowered * (self.capacity + 1) + sum(self.counts.tolist()) > self.total:
            raise ValueError(f"lowered: {self.lowered} is more than {self.capacity + 1} counters can have lost")

    @classmethod
    def for_error(cls, tolerance: float) -> MisraGries:
        """The smallest one with ``lowered <= tolerance * total``."""
        check_tolerance(tolerance)
        return cls(capacity=max(1, math.ceil(1 / tolerance) - 1))

    def mismatch(self, other: Self) -> str | None:
        if self.capacity != other.capacity:
            return f"capacity: {self.capacity} against {other.capacity}"
        return Frequent.mismatch(self, other)

    def _excess(self, counts: Ints) -> int:
        above = len(counts) - self.capacity
        return int(np.partition(counts, above - 1)[above - 1]) if above > 0 else 0
