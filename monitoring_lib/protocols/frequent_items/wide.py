"""Numbers of about 106 bits as sums of two doubles, in columns: what the exact counts of the truth are kept in.

``value = high + low`` with ``|low| <= ulp(high) / 2``. Whole numbers below 2^106 are exact; a product with a factor
is off by at most 2^-100 of itself (T. J. Dekker, "A floating-point technique for extending the available precision",
1971).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.codec import Floats

_SPLITTER = float(2**27 + 1)


@dataclass(frozen=True, slots=True)
class Wide:
    """A column of numbers."""

    high: Floats
    low: Floats

    @classmethod
    def of_whole(cls, numbers: NDArray[np.int64]) -> Wide:
        high = numbers.astype(np.float64)
        safe = np.abs(high) < 2.0**62  # beyond, the way back to a whole number could overflow
        low = np.where(safe, (numbers - np.where(safe, high, 0).astype(np.int64)).astype(np.float64), 0.0)
        for at in np.flatnonzero(~safe):
            low[at] = float(int(numbers[at]) - int(high[at]))
        return cls(high, low)

    def __len__(self) -> int:
        return len(self.high)

    def __add__(self, other: Wide) -> Wide:
        total, lost = _two_sum(self.high, other.high)
        return Wide(*_two_sum(total, lost + self.low + other.low))

    def times(self, factor: Fraction) -> Wide:
        upper = np.float64(float(factor))
        lower = np.float64(float(factor - Fraction(float(upper))))
        product, lost = _two_product(self.high, upper)
        return Wide(*_two_sum(product, lost + self.high * lower + self.low * upper))

    def take(self, at: NDArray[np.intp]) -> Wide:
        return Wide(self.high[at], self.low[at])

    def at_least(self, bounds: Floats) -> NDArray[np.bool_]:
        """Where the number is at least the bound, without a rounding error."""
        kept: NDArray[np.bool_] = (self.high - bounds) + self.low >= 0
        return kept

    def at_most(self, bounds: Floats) -> NDArray[np.bool_]:
        kept: NDArray[np.bool_] = (self.high - bounds) + self.low <= 0
        return kept

    def exact(self, at: int) -> Fraction:
        return Fraction(float(self.high[at])) + Fraction(float(self.low[at]))


def _two_sum(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    total = one + other
    part = total - one
    return total, (one - (total - part)) + (other - part)


def _two_product(one: Floats, factor: np.float64) -> tuple[Floats, Floats]:
    product = one * factor
    (a, b), (c, d) = _split(one), _split(np.asarray(factor))
    return product, ((a * c - product) + a * d + b * c) + b * d


def _split(number: Floats) -> tuple[Floats, Floats]:
    big = _SPLITTER * number
    upper = big - (big - number)
    return upper, number - upper
