"""Sums by item of one batch, exact: what every counter of frequent items starts from."""

from __future__ import annotations

import secrets
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from monitoring_lib.codec import Ints
from monitoring_lib.synopses._items import Column

_FACTOR = np.uint64(secrets.randbits(64) | 1)
"""Spreads keys over slots. It is another one in each process, so that no keys can be chosen to collide; sums
do not depend on it."""
_PART = 1 << 16
_MOST_PART_BITS = 8
_BUCKET_BITS = 15
_MOST_FULL = 1 << 12


def sums_by_item(column: Column, weights: NDArray[np.int64] | None) -> tuple[Column, Ints]:
    """Each item with the sum of its weights (1 each if there are none), once, in no order; none of sum 0."""
    if isinstance(column, np.ndarray):
        return _sums_of_numbers(*_plain(column, weights))
    values = np.ones(len(column), np.int64) if weights is None else weights
    table = pa.table({"item": column.cast(pa.large_string()), "sum": values})
    table = table.group_by("item", use_threads=False).aggregate([("sum", "sum")])
    table = table.filter(pc.not_equal(table["sum_sum"], 0)).combine_chunks()
    if not len(table):
        return column[:0], np.empty(0, np.int64)
    return table["item"].chunk(0), table["sum_sum"].to_numpy().astype(np.int64)


def large_sums_by_item(
    column: Column, weights: NDArray[np.int64] | None, above: int, standing: Column, standing_sums: Ints
) -> tuple[Column, Ints]:
    """As `sums_by_item`, but items whose sum, with what stands already, is at most `above` may be missing.

    Numbers are first summed over buckets of keys: where a whole bucket has no more than `above`, none of its
    items has. With few frequent items nearly all others are gone before anything is looked up by key.
    """
    if not isinstance(column, np.ndarray) or not isinstance(standing, np.ndarray) or above <= 0:
        return sums_by_item(column, weights)
    keys, given = _plain(column, weights)
    buckets = np.zeros(1 << _BUCKET_BITS, np.int64)
    _fill_buckets(*_plain(standing, standing_sums), _FACTOR, buckets)
    _fill_buckets(keys, given, _FACTOR, buckets)
    full = int(np.count_nonzero(buckets > above))
    if full > _MOST_FULL:
        return _sums_of_numbers(keys, given)
    keys, given = _of_full_buckets(keys, given, _FACTOR, buckets, above)
    return _summed(keys, given, np.array([0, len(keys)]), 0, _FACTOR)  # type: ignore[no-any-return]


def _plain(keys: NDArray[Any], weights: NDArray[np.int64] | None) -> tuple[Ints, Ints]:
    """As the kernels want them: no weights at all where each is 1."""
    given = np.empty(0, np.int64) if weights is None else np.ascontiguousarray(weights)
    return np.ascontiguousarray(keys, np.int64), given


def _sums_of_numbers(keys: Ints, weights: Ints) -> tuple[Ints, Ints]:
    """Keys are first dealt out into parts by the top bits of their hash, so that the table of sums stays in
    the cache: half the time of one large table for ten million events of half a million items."""
    part_bits = min((len(keys) // _PART).bit_length(), _MOST_PART_BITS)
    starts = np.array([0, len(keys)])
    if part_bits:
        keys, weights, starts = _dealt(keys, weights, part_bits, _FACTOR)
    return _summed(keys, weights, starts, part_bits, _FACTOR)  # type: ignore[no-any-return]


@numba.njit(cache=True)
def _fill_buckets(keys: Any, weights: Any, factor: Any, buckets: Any) -> None:
    for i in range(len(keys)):
        bucket = np.int64((np.uint64(keys[i]) * factor) >> np.uint64(64 - _BUCKET_BITS))
        buckets[bucket] += weights[i] if len(weights) else 1


@numba.njit(cache=True)
def _of_full_buckets(keys: Any, weights: Any, factor: Any, buckets: Any, above: Any) -> Any:
    kept_keys, kept_weights, kept = np.empty_like(keys), np.empty_like(weights), 0
    for i in range(len(keys)):
        kept_keys[kept] = keys[i]  # written in any case: a branch here would be mispredicted half of the time
        if len(weights):
            kept_weights[kept] = weights[i]
        bucket = np.int64((np.uint64(keys[i]) * factor) >> np.uint64(64 - _BUCKET_BITS))
        kept += 1 if buckets[bucket] > above else 0
    return kept_keys[:kept], kept_weights[:kept]


@numba.njit(cache=True)
def _dealt(keys: Any, weights: Any, part_bits: Any, factor: Any) -> Any:
    shift = np.uint64(64 - part_bits)
    starts = np.zeros((1 << part_bits) + 1, np.int64)
    for i in range(len(keys)):
        starts[np.int64((np.uint64(keys[i]) * factor) >> shift) + 1] += 1
    for part in range(1 << part_bits):
        starts[part + 1] += starts[part]
    at = starts[:-1].copy()
    dealt_keys = np.empty_like(keys)
    dealt_weights = np.empty_like(weights)
    for i in range(len(keys)):
        of = np.int64((np.uint64(keys[i]) * factor) >> shift)
        dealt_keys[at[of]] = keys[i]
        if len(weights):
            dealt_weights[at[of]] = weights[i]
        at[of] += 1
    return dealt_keys, dealt_weights, starts


@numba.njit(cache=True)
def _summed(keys: Any, weights: Any, starts: Any, part_bits: Any, factor: Any) -> Any:
    bits = 12
    table = np.zeros((1 << bits, 2), np.int64)  # key and sum; a sum of 0 is a free slot
    slots = np.empty(1 << bits, np.int64)
    out_keys = np.empty(len(keys), np.int64)
    out_sums = np.empty(len(keys), np.int64)
    found = 0
    for part in range(len(starts) - 1):
        at, used = _fill(keys, weights, starts[part], starts[part + 1], part_bits, factor, table, slots, 0)
        while at < starts[part + 1]:
            table, slots = _grown(table, slots, used, part_bits, factor)
            at, used = _fill(keys, weights, at, starts[part + 1], part_bits, factor, table, slots, used)
        for i in range(used):
            out_keys[found] = table[slots[i], 0]
            out_sums[found] = table[slots[i], 1]
            table[slots[i], 1] = 0
            found += 1
    return out_keys[:found].copy(), out_sums[:found].copy()


@numba.njit(cache=True)
def _fill(
    keys: Any,
    weights: Any,
    start: Any,
    end: Any,
    part_bits: Any,
    factor: Any,
    table: Any,
    slots: Any,
    used: Any,
) -> Any:
    """Adds keys to the table until it is half full; returns where it stopped and how many slots are used."""
    mask = len(table) - 1
    skip = np.uint64(part_bits)
    shift = np.uint64(64 - int(np.log2(len(table))))
    for i in range(start, end):
        key = keys[i]
        weight = weights[i] if len(weights) else 1
        if weight == 0:
            continue
        slot = np.int64(((np.uint64(key) * factor) << skip) >> shift)
        while True:
            total = table[slot, 1]
            if total == 0:
                if 2 * used > mask:
                    return i, used
                table[slot, 0] = key
                table[slot, 1] = weight
                slots[used] = slot
                used += 1
                break
            if table[slot, 0] == key:
                table[slot, 1] = total + weight
                break
            slot = (slot + 1) & mask
    return end, used


@numba.njit(cache=True)
def _grown(table: Any, slots: Any, used: Any, part_bits: Any, factor: Any) -> Any:
    """The same sums in a table twice as large."""
    larger = np.zeros((2 * len(table), 2), np.int64)
    mask = len(larger) - 1
    shift = np.uint64(64 - int(np.log2(len(larger))))
    larger_slots = np.empty(len(larger), np.int64)
    for i in range(used):
        slot = np.int64(((np.uint64(table[slots[i], 0]) * factor) << np.uint64(part_bits)) >> shift)
        while larger[slot, 1] != 0:
            slot = (slot + 1) & mask
        larger[slot] = table[slots[i]]
        larger_slots[i] = slot
    return larger, larger_slots
