"""What the distinct counters of Apache DataSketches share: fed with our hashes, they keep their own image."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from monitoring_lib.hashing import SPARK_SEED
from monitoring_lib.synopses._confidence import check_tolerance, standard_errors
from monitoring_lib.synopses._items import hash_chunks, occurring, occurring_hashes
from monitoring_lib.synopses.base import Bound, Synopsis
from monitoring_lib.synopses.hashes import seeded_chunks

_DEVIATIONS = (1, 2, 3)  # the standard errors for which DataSketches has bounds


@dataclass(slots=True)
class ApacheSketch(Synopsis):
    """Distinct items by a sketch of 2^size_log2 entries, for n distinct items over the seeds of the hash::

        Pr[ low <= n <= high ] >= confidence,   half-width about z * SPREAD / sqrt(2^size_log2) of n

    where z is the two-sided normal quantile of the confidence, raised to the next of 1, 2 and 3. The sketch
    takes the items' 64-bit hashes, with Spark's seed (42) as they are: then it can be made from the image of Spark's
    aggregate over ``xxhash64(item)``, and merged with it.
    """

    SPREAD: ClassVar[float]
    SIZES: ClassVar[range]

    size_log2: int
    seed: int = SPARK_SEED
    image: bytes = b""

    def __post_init__(self) -> None:
        if self.size_log2 not in self.SIZES:
            raise ValueError(f"size_log2: {self.size_log2} is not within {self.SIZES[0]} to {self.SIZES[-1]}")
        if not self.image:
            self.image = self._fed([])
        try:
            if not self._fits():
                raise ValueError(f"image: not one of size 2^{self.size_log2}")
            low, estimate, high = self._ends(_DEVIATIONS[-1])
            sound = 0 <= low <= estimate <= high < math.inf and self._makes_sense()
        except (IndexError, RuntimeError, OverflowError, struct.error) as error:
            raise ValueError(f"image: not one of DataSketches' ({error})") from error
        if not sound:
            raise ValueError(f"image: it says {estimate} between {low} and {high}, which its entries do not bear out")

    @classmethod
    def for_error(cls, tolerance: float, confidence: float, seed: int = SPARK_SEED) -> Self:
        """The smallest empty sketch with a half-width of at most ``tolerance * n``, also once merged."""
        check_tolerance(tolerance)
        entries = (_deviations(confidence) * cls.SPREAD / tolerance) ** 2
        return cls(max(cls.SIZES[0], math.ceil(math.log2(entries))), seed)

    def update(self, items: Any, weights: Any = None) -> None:
        for _, hashes in hash_chunks(occurring(items, weights)):
            self.update_hashes(hashes)

    def update_hashes(self, hashes: Any, weights: Any = None) -> None:
        """As `update`, from the items' 64-bit hashes: Spark's ``xxhash64(item)``, or `hash_pairs` of two."""
        for _, own in seeded_chunks(occurring_hashes(hashes, weights), self.seed):
            # Signed, because the binding takes a number from 2^63 on for a float, and rounds it.
            self.image = self._fed(own.view(np.int64).tolist())

    def estimate(self) -> float:
        return float(self._sketch().get_estimate())

    def bound(self, confidence: float = 0.95) -> Bound:
        """The interval for the number of distinct items, which is whole: ends are rounded outwards."""
        low, _, high = self._ends(_deviations(confidence))
        return Bound(math.floor(low), math.ceil(high), confidence, {"sketch": high - low})

    def mismatch(self, other: Self) -> str | None:
        if self.size_log2 != other.size_log2:
            return f"size_log2: {self.size_log2} against {other.size_log2}"
        return f"seed: {self.seed} against {other.seed}" if self.seed != other.seed else None

    @property
    def is_neutral(self) -> bool:
        return bool(self._sketch().is_empty())

    @classmethod
    def _merged_all(cls, parts: Sequence[Self]) -> Self:
        """DataSketches' unions depend a little on the order of their parts, so it is fixed: that of the images."""
        model, ordered = parts[0], sorted(parts, key=lambda part: part.image)
        return cls(model.size_log2, model.seed, cls._union(model.size_log2, [part._sketch() for part in ordered]))

    def _ends(self, deviations: int) -> tuple[float, float, float]:
        sketch = self._sketch()
        return sketch.get_lower_bound(deviations), sketch.get_estimate(), sketch.get_upper_bound(deviations)

    def _makes_sense(self) -> bool:
        """Whether sums that the image states beside its entries follow from them: DataSketches takes them as they
        are, so that a forged image can say any number."""
        raise TypeError(f"{type(self).__name__} does not say how its image is checked")

    def _sketch(self) -> Any:
        """The live sketch of the image."""
        raise TypeError(f"{type(self).__name__} does not say how its image is read")

    def _fits(self) -> bool:
        """Whether the image can be read and is of this size."""
        raise TypeError(f"{type(self).__name__} does not say how its image is read")

    def _fed(self, words: list[int]) -> bytes:
        """The image with these hashes added."""
        raise TypeError(f"{type(self).__name__} does not say how it is fed")

    @classmethod
    def _union(cls, size_log2: int, sketches: Sequence[Any]) -> bytes:
        """The image of the union."""
        raise TypeError(f"{cls.__name__} has no merge")


def _deviations(confidence: float) -> int:
    needed = standard_errors(confidence)
    if needed > _DEVIATIONS[-1]:
        raise ValueError(f"confidence: {confidence} is above 0.9973, the most that DataSketches has bounds for")
    return math.ceil(needed)
