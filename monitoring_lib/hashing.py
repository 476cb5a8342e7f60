"""Seeded hashes that are the same in every process, on every machine and in Spark's SQL.

The base is XXH64 over the UTF-8 bytes of a string, or over the eight little-endian bytes of a whole number:
Spark's ``xxhash64(column)`` is this with seed 42, so what the JVM hashed may be used as it is. Families of
independent functions are drawn from a seed by `draw`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

SPARK_SEED = 42
"""The seed with which `hash_strings` and `hash_integers` equal Spark's ``xxhash64``."""

_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MASK = (1 << 64) - 1
_STRINGS = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_binary,
    pa.types.is_large_binary,
)


@numba.njit(inline="always")
def _rotated(x: Any, bits: Any) -> Any:
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


@numba.njit(inline="always")
def _word(data: Any, at: Any, length: Any) -> Any:
    """`length` bytes from `at` as a little-endian number."""
    word = np.uint64(0)
    for i in range(length):
        word |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return word


@numba.njit(inline="always")
def _finished(h: Any) -> Any:
    h ^= h >> np.uint64(33)
    h *= _P2
    h ^= h >> np.uint64(29)
    h *= _P3
    return h ^ (h >> np.uint64(32))


@numba.njit(inline="always")
def _round(lane: Any, word: Any) -> Any:
    return _rotated(lane + word * _P2, 31) * _P1


@numba.njit(inline="always")
def _xxh64(data: Any, start: Any, end: Any, seed: Any) -> Any:
    length = end - start
    at = start
    if length >= 32:
        a, b, c, d = seed + _P1 + _P2, seed + _P2, seed, seed - _P1
        while at + 32 <= end:
            a = _round(a, _word(data, at, 8))
            b = _round(b, _word(data, at + 8, 8))
            c = _round(c, _word(data, at + 16, 8))
            d = _round(d, _word(data, at + 24, 8))
            at += 32
        h = _rotated(a, 1) + _rotated(b, 7) + _rotated(c, 12) + _rotated(d, 18)
        for lane in (a, b, c, d):
            h = (h ^ _round(np.uint64(0), lane)) * _P1 + _P4
    else:
        h = seed + _P5
    h += np.uint64(length)
    while at + 8 <= end:
        h = _rotated(h ^ _round(np.uint64(0), _word(data, at, 8)), 27) * _P1 + _P4
        at += 8
    if at + 4 <= end:
        h = _rotated(h ^ (_word(data, at, 4) * _P1), 23) * _P2 + _P3
        at += 4
    while at < end:
        h = _rotated(h ^ (np.uint64(data[at]) * _P5), 11) * _P1
        at += 1
    return _finished(h)


@numba.njit(cache=True)
def _hash_slices(data: Any, offsets: Any, seed: Any, out: Any) -> None:
    for i in range(len(out)):
        out[i] = _xxh64(data, offsets[i], offsets[i + 1], seed)


@numba.njit(cache=True)
def _hash_words(values: Any, seed: Any, out: Any) -> None:
    for i in range(len(out)):
        h = seed + _P5 + np.uint64(8)
        out[i] = _finished(_rotated(h ^ _round(np.uint64(0), values[i]), 27) * _P1 + _P4)


def hash_strings(values: Sequence[str] | NDArray[Any] | pa.Array, seed: int = 0) -> Hashes:
    """XXH64 of each string's UTF-8 bytes."""
    array = as_column(values)
    if isinstance(array, np.ndarray):
        raise ValueError(f"values: strings expected, found {array.dtype}")
    array = array.cast(pa.large_binary())
    _, offset_buffer, data_buffer = array.buffers()
    out = np.empty(len(array), np.uint64)
    if not len(array):
        return out
    offsets = np.frombuffer(offset_buffer, np.int64)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(data_buffer, np.uint8) if data_buffer is not None else np.empty(0, np.uint8)
    _hash_slices(data, offsets, np.uint64(seed & _MASK), out)
    return out


def hash_integers(values: NDArray[Any], seed: int = 0) -> Hashes:
    """XXH64 of each whole number's eight little-endian bytes."""
    values = np.asarray(values)
    if values.dtype.kind not in "iu":
        raise ValueError(f"values: whole numbers expected, found {values.dtype}")
    out = np.empty(len(values), np.uint64)
    words = values.astype(np.int64) if values.dtype.kind == "i" else values.astype(np.uint64)
    _hash_words(np.ascontiguousarray(words).view(np.uint64), np.uint64(seed & _MASK), out)
    return out


def as_column(values: Any) -> NDArray[Any] | pa.Array:
    """Items in one of the two forms that are hashed: whole numbers in NumPy, or strings in Arrow."""
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise ValueError(f"values: one dimension expected, found {values.ndim}")
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        return values
    column = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    if column.null_count:
        raise ValueError(f"values: {column.null_count} nulls cannot be hashed; drop or replace them first")
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_integer(kind):
        return column.to_numpy() if isinstance(column, pa.ChunkedArray) else column.to_numpy(False)
    if len(column) and not any(is_kind(kind) for is_kind in _STRINGS):
        raise ValueError(f"values: whole numbers or strings expected, found {kind}")
    if isinstance(column, pa.ChunkedArray):  # more than 2 GB of them need the wider offsets in one piece
        column = column.cast(pa.large_binary()).combine_chunks().cast(pa.large_string())
    return column if len(column) else pa.array([], pa.large_string())


def hash_items(values: Any, seed: int = 0) -> Hashes:
    """The hash of items, be they whole numbers or strings."""
    column = as_column(values)
    return hash_integers(column, seed) if isinstance(column, np.ndarray) else hash_strings(column, seed)


def hash_text(text: str, seed: int = 0) -> int:
    """The hash of one string."""
    return int(hash_strings([text], seed)[0])


def draw(seed: int, count: int) -> Hashes:
    """`count` 64-bit words from `seed` (splitmix64): the constants of a family of hash functions."""
    with np.errstate(over="ignore"):
        state = np.uint64(seed & _MASK) + _GOLDEN * np.arange(1, count + 1, dtype=np.uint64)
        z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
