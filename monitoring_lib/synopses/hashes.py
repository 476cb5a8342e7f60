"""Hashes as synopses use them: an item is hashed once, and each synopsis mixes its own seed in.

The one hash is XXH64 with Spark's seed, so it may be computed in Python (`hash_items`) or by the JVM
(``xxhash64(item)``): every synopsis that hashes has `update_hashes`, and its `update` is no more than that on the
hashes of the items, byte for byte. Pairs have one hash too, made of the hashes of their two halves.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numba
import numpy as np

from monitoring_lib.hashing import SPARK_SEED, Hashes, draw, hash_integers

CHUNK = 1 << 16
"""Hashes mixed at a time: they are still in the cache when they are used."""

_ODD = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)


def as_hashes(hashes: Any, name: str = "hashes") -> Hashes:
    """64-bit hashes, as Spark (signed) or this library (unsigned) gives them."""
    given = np.asarray(hashes)
    if given.ndim != 1 or (given.size and (given.dtype.kind not in "iu" or given.dtype.itemsize != 8)):
        raise ValueError(f"{name}: a row of 64-bit hashes expected, found {given.dtype} of shape {given.shape}")
    return np.ascontiguousarray(given if given.size else given.astype(np.uint64)).view(np.uint64)


def seeded(hashes: Hashes, seed: int) -> Hashes:
    """The hashes under a seed: a bijection of 64 bits drawn from it, the identity for Spark's own seed.

    Two seeds give functions that behave as if independent: the key is added, multiplied in by an odd number of its
    own and then spread by splitmix64's finaliser, so that every bit of hash and seed reaches every bit.
    """
    if seed == SPARK_SEED:
        return hashes
    out = np.empty(len(hashes), np.uint64)
    _mix(hashes, _keys(seed), out)
    return out


@lru_cache(maxsize=1024)
def _keys(seed: int) -> Hashes:
    return draw(seed, 3)


def seeded_chunks(hashes: Hashes, seed: int) -> Iterator[tuple[int, Hashes]]:
    """The hashes under a seed, chunk by chunk, each with the position it begins at."""
    for start in range(0, len(hashes), CHUNK):
        yield start, seeded(hashes[start : start + CHUNK], seed)


def hash_pairs(items: Hashes, partners: Hashes | None = None) -> Hashes:
    """The hash of each pair (item, partner) from the hashes of both, modulo 2^64::

        xxhash64(xxhash64(item) * 0x9E3779B97F4A7C15 + xxhash64(partner))

    It is not symmetric. An item without a partner is hashed a second time: ``xxhash64(xxhash64(item))``.
    """
    if partners is not None and len(partners) != len(items):
        raise ValueError(f"partners: {len(items)} expected, one an item, found {len(partners)}")
    return hash_integers(items if partners is None else items * _ODD + partners, SPARK_SEED)


@numba.njit(cache=True)
def _mix(hashes: Any, keys: Any, out: Any) -> None:
    first, factor, last = keys[0], keys[1] | np.uint64(1), keys[2]
    for i in range(len(out)):
        z = (hashes[i] + first) * factor
        z = (z ^ (z >> np.uint64(32))) + last
        z = (z ^ (z >> np.uint64(30))) * MIX_1
        z = (z ^ (z >> np.uint64(27))) * MIX_2
        out[i] = z ^ (z >> np.uint64(31))
