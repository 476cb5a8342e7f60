"""Kernels of randomised waves: samples of the events of many cells, each tier half of the one below it.

Tier 0 takes every event, and of each two neighbours in a tier a coin sends one on to the tier above. So every event
reaches tier l with probability 2 ** -l; events of different blocks of 2 ** l do so independently, and of one whole
block exactly one does. The event with number n (from 0) stands at place ``n >> l`` of every tier l it reaches, which
makes the outcome of c events computable without going through them one by one.

`rings` has the shape (tiers, cells, entries): the newest ticks of each tier. `pushed` counts the ticks ever put
there, so more than `entries` means that older ones were pushed out; `lost` is the newest tick that a merge had no room
for, where `loses` is 1. The top tier never loses one: kernels stop before an event that would push one out, and
the caller adds a tier.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

_STEP = np.uint64(0x9E3779B97F4A7C15)
_TIER = np.uint64(0xD1B54A32D192ED03)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@numba.njit(inline="always")
def coin(seed: Any, tier: Any, pair: Any) -> Any:
    """0 or 1: which of the two neighbours of a pair goes on to this tier."""
    z = seed + _TIER * np.uint64(tier) + _STEP * np.uint64(pair)
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return np.int64((z ^ (z >> np.uint64(31))) >> np.uint64(63))


@numba.njit(inline="always")
def _chosen(seed: Any, tier: Any, block: Any) -> Any:
    """The number of the event that a block of 2 ** tier sends to this tier."""
    for below in range(tier, 0, -1):
        block = 2 * block + coin(seed, below, block)
    return block


@numba.njit(inline="always")
def _reached(seed: Any, tier: Any, events: Any) -> Any:
    """How many of the first so many events reach a tier."""
    whole = events >> tier
    if whole << tier == events:
        return whole
    return whole + (1 if _chosen(seed, tier, whole) < events else 0)


@numba.njit(inline="always")
def _push(tier: Any, cell: Any, tick: Any, pushed: Any, rings: Any) -> None:
    rings[tier, cell, pushed[tier, cell] % rings.shape[2]] = tick
    pushed[tier, cell] += 1


@numba.njit(cache=True)
def insert(
    columns: Any,
    base: Any,
    ticks: Any,
    weights: Any,
    step: Any,
    begin: Any,
    seeds: Any,
    count: Any,
    pushed: Any,
    rings: Any,
) -> Any:
    """``weights[i]`` events a position, the j-th of them at ``ticks[i] + step * j``; returns where it stopped."""
    tiers, entries = rings.shape[0], rings.shape[2]
    for i in range(begin, len(columns)):
        cell = base + np.int64(columns[i])
        seed, before, after = seeds[cell], count[cell], count[cell] + weights[i]
        if weights[i] == 1:
            tier = 0
            while tier + 1 < tiers and coin(seed, tier + 1, before >> (tier + 1)) == (before >> tier) & 1:
                tier += 1
            if tier == tiers - 1 and pushed[tier, cell] == entries:
                return i
            for reached in range(tier + 1):
                _push(reached, cell, ticks[i], pushed, rings)
            count[cell] = after
        elif weights[i] > 1:
            top = tiers - 1
            if pushed[top, cell] + _reached(seed, top, after) - _reached(seed, top, before) > entries:
                return i
            for tier in range(tiers):
                old, new = _reached(seed, tier, before), _reached(seed, tier, after)
                if new - old > entries:  # the others would be pushed out again
                    pushed[tier, cell] += new - old - entries
                    old = new - entries
                for place in range(old, new):
                    tick = ticks[i]
                    if step:
                        tick += step * (_chosen(seed, tier, place) - before)
                    _push(tier, cell, tick, pushed, rings)
            count[cell] = after
    return len(columns)


@numba.njit(cache=True)
def with_more_tiers(more: Any, seeds: Any, inherited: Any, pushed: Any, loses: Any, lost: Any, rings: Any) -> Any:
    """The same samples and so many tiers more, each of which takes one of each two neighbours of the one below.

    `inherited` says how many entries of the top tier came from merges; they have pairs and coins of their own.
    """
    tiers, cells, entries = rings.shape
    new_pushed = np.zeros((tiers + more, cells), np.int64)
    new_loses, new_lost = np.zeros_like(new_pushed), np.zeros_like(new_pushed)
    new_rings = np.zeros((tiers + more, cells, entries), np.int64)
    new_pushed[:tiers], new_loses[:tiers], new_lost[:tiers], new_rings[:tiers] = pushed, loses, lost, rings
    remaining = inherited.copy()
    for tier in range(tiers, tiers + more):
        for cell in range(cells):
            from_merges, remaining[cell] = remaining[cell], 0
            for place in range(new_pushed[tier - 1, cell]):
                if place < from_merges:
                    goes = coin(~seeds[cell], tier, place >> 1) == place & 1
                    remaining[cell] += goes
                else:
                    own = place - from_merges
                    goes = coin(seeds[cell], tier, own >> 1) == own & 1
                if goes:
                    _push(tier, cell, new_rings[tier - 1, cell, place], new_pushed, new_rings)
    return remaining, new_pushed, new_loses, new_lost, new_rings


@numba.njit(cache=True)
def tally(cutoff: Any, pushed: Any, loses: Any, lost: Any, rings: Any, found: Any, tier_of: Any) -> None:
    """For each cell the lowest tier that has lost nothing after the cutoff, and its entries after it."""
    entries = rings.shape[2]
    for cell in range(rings.shape[1]):
        tier = 0
        while (loses[tier, cell] and lost[tier, cell] > cutoff) or (
            pushed[tier, cell] > entries and rings[tier, cell, pushed[tier, cell] % entries] > cutoff
        ):
            tier += 1
        newest = pushed[tier, cell]
        low, high = max(0, newest - entries), newest
        while low < high:
            middle = (low + high) // 2
            if rings[tier, cell, middle % entries] > cutoff:
                high = middle
            else:
                low = middle + 1
        found[cell] = newest - low
        tier_of[cell] = tier


@numba.njit(cache=True)
def join(sorted_ticks: Any, lengths: Any, pushed: Any, loses: Any, lost: Any, rings: Any) -> None:
    """One tier of merged samples: the newest entries of each cell's sorted ticks."""
    entries = rings.shape[1]
    for cell in range(len(lengths)):
        over = lengths[cell] - entries
        if over > 0:
            newest_lost = sorted_ticks[cell, over - 1]
            lost[cell] = max(lost[cell], newest_lost) if loses[cell] else newest_lost
            loses[cell] = 1
        for place in range(max(0, over), lengths[cell]):
            rings[cell, place - max(0, over)] = sorted_ticks[cell, place]
        pushed[cell] = min(entries, lengths[cell])


@numba.njit(cache=True)
def tiers_in_order(pushed: Any, rings: Any, newest: Any) -> Any:
    """Whether the kept ticks of each cell never fall in any tier, nor lie after `newest`."""
    tiers, cells, entries = rings.shape
    for tier in range(tiers):
        for cell in range(cells):
            end = pushed[tier, cell]
            for place in range(max(0, end - entries) + 1, end):
                if rings[tier, cell, place % entries] < rings[tier, cell, (place - 1) % entries]:
                    return False
            if end > 0 and rings[tier, cell, (end - 1) % entries] > newest:
                return False
    return True
