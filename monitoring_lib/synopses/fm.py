"""Flajolet-Martin sketch: the number of distinct items from bitmaps that duplicates cannot change."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numba
import numpy as np
from numpy.typing import NDArray

from monitoring_lib.codec import Ints, Words
from monitoring_lib.hashing import SPARK_SEED
from monitoring_lib.synopses._confidence import check_tolerance, standard_errors
from monitoring_lib.synopses._fm_errors import BIAS, interval, standard_error
from monitoring_lib.synopses._items import hash_chunks, occurring, occurring_hashes, whole_numbers
from monitoring_lib.synopses.base import Bound, Synopsis
from monitoring_lib.synopses.hashes import seeded_chunks

Estimator = Literal["likelihood", "pcsa"]

MOST_LEVELS = 32
_SPREAD = 0.65  # standard error times the root of the number of bitmaps, for many items
_MAGIC = 0.77351  # Flajolet and Martin's correction of 2^mean


@dataclass(slots=True)
class FM(Synopsis, tag=31, version=2):
    """Distinct items by Flajolet-Martin bitmaps, read with the maximum-likelihood estimator.

    With m bitmaps and n distinct items, over the seeds of the hash::

        Pr[ |estimate - n| <= error * n + 1 ] >= confidence,   error = z * 0.65 / sqrt(m) + 0.36 / m
        Pr[ bound.low <= n <= bound.high ] >= confidence       for every n, few or many

    where z is the two-sided normal quantile of the confidence. The 1 is for one collision, which is all that
    matters below 20 items; `bound` knows how likely one is, and that every bit stands for an item. An item
    sets one bit: any bitmap, level r with probability 2^-(r+1), the last level with the rest. A merge is the
    bitwise or, and exact: the same sketch as of all items together.

    Cormode, Muthukrishnan and Zhuang, What's Different: Distributed, Continuous Monitoring of
    Duplicate-Resilient Aggregates on Data Streams, section 3.2. Their estimator, PCSA, is an option: it needs
    many items a bitmap, and says m / 0.77351 when there are none.
    """

    bitmaps: Words
    levels: int = MOST_LEVELS
    seed: int = SPARK_SEED

    def __post_init__(self) -> None:
        if self.bitmaps.ndim != 1 or not 1 <= len(self.bitmaps) < 1 << 32:
            raise ValueError(f"bitmaps: one row of at least 1 expected, found shape {self.bitmaps.shape}")
        check_levels(self.bitmaps, self.levels)

    @classmethod
    def of_size(cls, bitmaps: int, levels: int = MOST_LEVELS, seed: int = SPARK_SEED) -> FM:
        """An empty sketch of so many bitmaps."""
        return cls(np.zeros(bitmaps, np.uint64), levels, seed)

    @classmethod
    def for_error(cls, tolerance: float, confidence: float, seed: int = SPARK_SEED) -> FM:
        """The smallest empty sketch with ``error <= tolerance``."""
        return cls.of_size(bitmaps_for(tolerance, confidence), seed=seed)

    def update(self, items: Any, weights: Any = None) -> None:
        for _, hashes in hash_chunks(occurring(items, weights)):
            self.update_hashes(hashes)

    def update_hashes(self, hashes: Any, weights: Any = None) -> None:
        """As `update`, from the items' 64-bit hashes: Spark's ``xxhash64(item)``, or `hash_pairs` of two."""
        for _, own in seeded_chunks(occurring_hashes(hashes, weights), self.seed):
            _set_bits(own, self.bitmaps, np.uint64(1 << (self.levels - 1)))

    def estimate(self, estimator: Estimator = "likelihood") -> float:
        """The number of distinct items; infinite if every bit is set."""
        if estimator == "likelihood":
            return float(likelihood_estimates(self.bitmaps[np.newaxis], self.levels)[0])
        if estimator != "pcsa":
            raise ValueError(f"estimator: {estimator!r} is neither 'likelihood' nor 'pcsa'")
        lowest_unset = np.bitwise_count(self.bitmaps & ~(self.bitmaps + np.uint64(1)))
        return float(len(self.bitmaps) * 2 ** lowest_unset.mean() / _MAGIC)

    def bound(self, confidence: float = 0.95, lag: float = 0.0) -> Bound:
        """The interval for the number of distinct items, few or many; exact if no bit is set.

        With a `lag` the sketch may lack items that would raise its estimate by that share.
        """
        standard_errors(confidence)
        bits = self.bits
        if not bits:
            return Bound(0.0, 0.0)
        estimate, size = self.estimate(), len(self.bitmaps)
        low, high = interval(estimate, bits, size, self.levels, confidence)
        if lag:
            high = interval(estimate * (1 + lag), bits, size, self.levels, confidence)[1]
        return Bound(low, high, confidence, {"sketch": high - low})

    def standard_error(self, items: float | None = None) -> float:
        """The relative standard error of the estimate of so many distinct items (of as many as there seem to be)."""
        return standard_error(self.estimate() if items is None else items, len(self.bitmaps), self.levels)

    @property
    def bits(self) -> int:
        """How many bits are set."""
        return int(np.bitwise_count(self.bitmaps).sum())

    def bits_at(self, level: int) -> NDArray[np.bool_]:
        """Bitmap by bitmap, whether its bit of this level is set."""
        if not 0 <= level < self.levels:
            raise ValueError(f"level: {level} is not within 0 to {self.levels - 1}")
        return np.asarray((self.bitmaps >> np.uint64(level)) & np.uint64(1), np.bool_)

    def listed_bits(self) -> Ints:
        """The bits that are set, in increasing order, each as ``bitmap * levels + level``."""
        places = (self.bitmaps[:, np.newaxis] >> np.arange(self.levels, dtype=np.uint64)) & np.uint64(1)
        return np.flatnonzero(places)

    def set_bits(self, bits: Any) -> Ints:
        """Sets bits as `listed_bits` names them; returns those that were not set before."""
        listed = np.unique(whole_numbers(bits, "bits"))
        if len(listed) and not 0 <= listed[0] <= listed[-1] < len(self.bitmaps) * self.levels:
            raise ValueError(
                f"bits: {listed[0]} to {listed[-1]}, not within 0 to {len(self.bitmaps) * self.levels - 1}"
            )
        at, level = np.divmod(listed, self.levels)
        words = np.uint64(1) << level.astype(np.uint64)
        news: Ints = listed[self.bitmaps[at] & words == 0]
        np.bitwise_or.at(self.bitmaps, at, words)
        return news

    def copy(self) -> FM:
        """One that further updates do not change: what `bits_since` is asked about later."""
        return FM(self.bitmaps.copy(), self.levels, self.seed)

    def bits_since(self, earlier: FM) -> FM:
        """The sketch of the bits that `earlier` lacks: merged into `earlier`, it gives what both know."""
        reason = self.mismatch(earlier)
        if reason is not None:
            raise ValueError(f"earlier: FMs of unlike making cannot be compared: {reason}")
        return FM(self.bitmaps & ~earlier.bitmaps, self.levels, self.seed)

    def mismatch(self, other: FM) -> str | None:
        if len(self.bitmaps) != len(other.bitmaps):
            return f"bitmaps: {len(self.bitmaps)} against {len(other.bitmaps)}"
        if self.levels != other.levels:
            return f"levels: {self.levels} against {other.levels}"
        return f"seed: {self.seed} against {other.seed}" if self.seed != other.seed else None

    def _merged(self, other: FM) -> FM:
        return FM(self.bitmaps | other.bitmaps, self.levels, self.seed)


def check_levels(bitmaps: Words, levels: int) -> None:
    if not 2 <= levels <= MOST_LEVELS:
        raise ValueError(f"levels: {levels} is not within 2 to {MOST_LEVELS}")
    if bitmaps.size and int(bitmaps.max()) >> levels:
        raise ValueError(f"bitmaps: a bit is set beyond level {levels}")


def error_of(bitmaps: int, confidence: float) -> float:
    """The relative error of a sketch of so many bitmaps."""
    return standard_errors(confidence) * _SPREAD / math.sqrt(bitmaps) + BIAS / bitmaps


def bitmaps_for(tolerance: float, confidence: float) -> int:
    """The fewest bitmaps whose relative error is at most `tolerance`."""
    check_tolerance(tolerance)
    spread = standard_errors(confidence) * _SPREAD
    root = (spread + math.sqrt(spread * spread + 4 * tolerance * BIAS)) / (2 * tolerance)
    return math.ceil(root * root)


def likelihood_estimates(sketches: Words, levels: int) -> NDArray[np.float64]:
    """The maximum-likelihood estimate of each row of bitmaps."""
    out = np.empty(len(sketches))
    _likelihood_roots(np.ascontiguousarray(sketches), levels, out)
    return out


def likelihood_of_levels(set_at: NDArray[np.int64], bitmaps: int) -> NDArray[np.float64]:
    """The same estimates from how many of the bitmaps have each level's bit set, a row of levels for each sketch."""
    out = np.empty(len(set_at))
    _roots_of_levels(np.ascontiguousarray(set_at), bitmaps, out)
    return out


@numba.njit(cache=True)
def _set_bits(hashes: Any, bitmaps: Any, last: Any) -> None:
    """The upper half of a hash chooses the bitmap; the lowest set bit of the lower half is the bit to set."""
    size = np.uint64(len(bitmaps))
    for i in range(len(hashes)):
        low = hashes[i] | last
        bitmaps[((hashes[i] >> np.uint64(32)) * size) >> np.uint64(32)] |= low & (~low + np.uint64(1))


@numba.njit(cache=True)
def _likelihood_roots(sketches: Any, levels: Any, out: Any) -> None:
    """For each sketch the estimate of how many of its bitmaps have each level's bit set."""
    set_at, chances = np.empty(levels, np.int64), _chances(levels)
    for k in range(len(sketches)):
        set_at[:] = 0
        for i in range(sketches.shape[1]):
            word = sketches[k, i]
            for r in range(levels):
                set_at[r] += np.int64((word >> np.uint64(r)) & np.uint64(1))
        out[k] = _likelihood_root(set_at, chances, sketches.shape[1])


@numba.njit(cache=True)
def _roots_of_levels(set_at: Any, size: Any, out: Any) -> None:
    chances = _chances(set_at.shape[1])
    for k in range(len(set_at)):
        out[k] = _likelihood_root(set_at[k], chances, size)


@numba.njit(cache=True)
def _chances(levels: Any) -> Any:
    chances = np.empty(levels)
    for r in range(levels):
        chances[r] = 0.5 ** min(r + 1, levels - 1)
    return chances


@numba.njit(cache=True)
def _likelihood_root(set_at: Any, chances: Any, size: Any) -> Any:
    """m times the root x of sum c_r p_r / (e^(p_r x) - 1) = sum (m - c_r) p_r, where c_r of the m bitmaps have bit r
    set and p_r is the level's probability. The left side is convex and falling, so Newton's steps from the left
    never pass the root; 1 / x - p / 2 <= p / (e^(p x) - 1) gives a start on the left."""
    levels = len(set_at)
    unset, half = 0.0, 0.0
    for r in range(levels):
        unset += (size - set_at[r]) * chances[r]
        half += set_at[r] * chances[r] / 2
    if unset == 0.0:
        return np.inf
    x = set_at.sum() / (half + unset)
    for _ in range(100):
        value, slope = -unset, 0.0
        for r in range(levels):
            if set_at[r] and chances[r] * x < 700.0:
                grown = np.expm1(chances[r] * x)
                term = set_at[r] * chances[r] / grown
                value += term
                slope += term * chances[r] * (grown + 1.0) / grown
        if slope == 0.0 or value <= 1e-14 * unset:
            break
        x += value / slope
    return size * x
