"""Where the ticks of many counters are kept: each once, on the rung that its number reaches.

The events of a cell are numbered 1, 2, 3, ... Number n goes to rung ``trailing_zeros(n)``, which keeps its last
`slots` ticks; the top rung keeps the last ``2 * slots`` of all numbers that reach it or higher. So an insertion is
one write, and the boundaries of an exponential histogram as well as the ranks of a deterministic wave can be read
off when they are asked for, because both keep numbers that are divisible by higher powers of two for longer.

`rings` has the shape (rungs + 1, cells, slots); the top rung takes the last two layers. Kernels that insert stop
before an event that would push a tick out of the top rung that is still younger than `horizon`: the caller adds a
rung and goes on.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from monitoring_lib.synopses._bits import trailing_zeros

FEW = 8
"""Events of one arrival up to which they are inserted one by one."""


@numba.njit(cache=True)
def insert_each(
    columns: Any,
    base: Any,
    width: Any,
    ticks: Any,
    begin: Any,
    horizon: Any,
    count: Any,
    first: Any,
    rings: Any,
) -> Any:
    """One event a position, from `begin` on, at cell ``base + columns[i]``; returns the position it stopped at.

    Flat, unsigned indices from 0: Numba then leaves out its tests for negative ones, a third of the time.
    """
    top, cells, slots = rings.shape[0] - 2, rings.shape[1], rings.shape[2]
    mask, bits = slots - 1, trailing_zeros(slots)
    flat, layer_size = rings.reshape(rings.size)[base * slots :], cells * slots
    counts, some, when = count[base : base + width], columns[begin:], ticks[begin:]
    if counts.min() == 0:
        for i in range(len(some) - 1, -1, -1):  # backwards, so that what is noted last is the first event
            if counts[some[i]] == 0:
                first[base + some[i]] = when[i]
    for i in range(len(some)):
        cell = np.uint64(some[i])
        number = counts[cell] + 1
        rung = trailing_zeros(number)
        at = np.int64(cell) << bits
        if rung < top:
            at += rung * layer_size + ((number >> (rung + 1)) & mask)
        else:
            place = number >> top
            at += (top + ((place >> bits) & 1)) * layer_size + (place & mask)
            if place > 2 * slots and flat[np.uint64(at)] > when[i] - horizon:
                return begin + i
        flat[np.uint64(at)] = when[i]
        counts[cell] = number
    return len(columns)


@numba.njit(cache=True)
def insert_many(
    columns: Any,
    base: Any,
    ticks: Any,
    weights: Any,
    step: Any,
    begin: Any,
    horizon: Any,
    count: Any,
    first: Any,
    rings: Any,
) -> Any:
    """``weights[i]`` events a position, the j-th of them at ``ticks[i] + step * j``; else as `insert_each`.

    The outcome is that of single insertions; the work for a weight is bounded by the slots of a cell.
    """
    top, slots = rings.shape[0] - 2, rings.shape[2]
    mask, bits = slots - 1, trailing_zeros(slots)
    for i in range(begin, len(columns)):
        if weights[i] == 0:
            continue
        cell = base + np.int64(columns[i])
        before, after = count[cell], count[cell] + weights[i]
        start = ticks[i] - step * (before + 1)  # number n arrives at start + step * n
        if _pushes_out(cell, before, after, start, step, horizon, rings):
            return i
        if weights[i] <= FEW:
            for number in range(before + 1, after + 1):
                rung = trailing_zeros(number)
                if rung < top:
                    rings[rung, cell, (number >> (rung + 1)) & mask] = start + step * number
        else:
            for rung in range(top):
                newest = ((after >> rung) - 1) >> 1
                oldest = max(((before >> rung) + 1) >> 1, newest - mask)
                for place in range(oldest, newest + 1):
                    rings[rung, cell, place & mask] = start + step * ((2 * place + 1) << rung)
        newest = after >> top
        for place in range(max((before >> top) + 1, newest - 2 * slots + 1), newest + 1):
            rings[top + ((place >> bits) & 1), cell, place & mask] = start + step * (place << top)
        count[cell] = after
        if before == 0:
            first[cell] = ticks[i]
    return len(columns)


@numba.njit(inline="always")
def _pushes_out(cell: Any, before: Any, after: Any, start: Any, step: Any, horizon: Any, rings: Any) -> Any:
    """Whether numbers before + 1 .. after would push a tick out of the top rung while it is within the horizon."""
    top, slots = rings.shape[0] - 2, rings.shape[2]
    bits = trailing_zeros(slots)
    old, new = before >> top, after >> top
    if new - old > 2 * slots and step * ((2 * slots) << top) < horizon:
        return True
    for place in range(max(old, 2 * slots) + 1, min(new, old + 2 * slots) + 1):
        tick = rings[top + ((place >> bits) & 1), cell, place & (slots - 1)]
        if tick > start + step * (place << top) - horizon:
            return True
    return False


@numba.njit(cache=True)
def with_another_rung(count: Any, first: Any, rings: Any) -> Any:
    """The same ticks on one rung more. What the old top rung had let go is older than any horizon: the tick of the
    first event, which is as old, stands for it."""
    top, cells, slots = rings.shape[0] - 2, rings.shape[1], rings.shape[2]
    bits = trailing_zeros(slots)
    wider = np.zeros((top + 3, cells, slots), np.int64)
    wider[:top] = rings[:top]
    for cell in range(cells):
        newest = count[cell] >> top
        for place in range(max(1, (newest >> 1) - 2 * slots + 1), (newest >> 1) + 1):
            wider[top + 1 + ((place >> bits) & 1), cell, place & (slots - 1)] = first[cell]
        for place in range(max(1, newest - 2 * slots + 1), newest + 1):
            tick = rings[top + ((place >> bits) & 1), cell, place & (slots - 1)]
            half = place >> 1
            if place & 1:
                wider[top, cell, half & (slots - 1)] = tick
            else:
                wider[top + 1 + ((half >> bits) & 1), cell, half & (slots - 1)] = tick
    return wider


@numba.njit(inline="always")
def tick_of(number: Any, cell: Any, rings: Any) -> Any:
    """The tick of a number that is still kept."""
    top, slots = rings.shape[0] - 2, rings.shape[2]
    rung = trailing_zeros(number)
    if rung < top:
        return rings[rung, cell, (number >> (rung + 1)) & (slots - 1)]
    place = number >> top
    return rings[top + ((place >> trailing_zeros(slots)) & 1), cell, place & (slots - 1)]


@numba.njit(cache=True)
def gather(logs: Any, lengths: Any, ends: Any, flat: Any) -> None:
    """Adds the log of each cell to its stretch of `flat`, which is filled up to `ends` so far."""
    for cell in range(len(lengths)):
        at = ends[cell]
        for i in range(lengths[cell]):
            flat[at + i] = logs[cell, i]
        ends[cell] = at + lengths[cell]


@numba.njit(cache=True)
def sort_each(flat: Any, starts: Any) -> None:
    """Sorts the stretch of each cell."""
    for cell in range(len(starts) - 1):
        if starts[cell + 1] - starts[cell] > 1:
            flat[starts[cell] : starts[cell + 1]] = np.sort(flat[starts[cell] : starts[cell + 1]])


@numba.njit(cache=True)
def fill(flat: Any, starts: Any, origin: Any, count: Any, first: Any, rings: Any) -> None:
    """Empty cells as after the insertion of whole logs: entries in the order of ticks, see `packed`."""
    top, slots = rings.shape[0] - 2, rings.shape[2]
    bits = trailing_zeros(slots)
    for cell in range(len(count)):
        log = flat[starts[cell] : starts[cell + 1]]
        reached = np.empty(len(log), np.int64)
        total = 0
        for i in range(len(log)):
            total += 1 << (log[i] & 63)
            reached[i] = total
        if total == 0:
            continue
        count[cell] = total
        first[cell] = origin + (log[0] >> 6)
        for rung in range(top):
            newest = ((total >> rung) - 1) >> 1
            for place in range(max(0, newest - slots + 1), newest + 1):
                at = np.searchsorted(reached, (2 * place + 1) << rung)
                rings[rung, cell, place & (slots - 1)] = origin + (log[at] >> 6)
        newest = total >> top
        for place in range(max(1, newest - 2 * slots + 1), newest + 1):
            at = np.searchsorted(reached, place << top)
            rings[top + ((place >> bits) & 1), cell, place & (slots - 1)] = origin + (log[at] >> 6)


@numba.njit(inline="always")
def packed(tick: Any, power: Any, origin: Any) -> Any:
    """An entry of a log: 2 ** power events at a tick, so that sorting entries sorts them by tick."""
    return ((tick - origin) << 6) | power


@numba.njit(cache=True)
def totals(flat: Any, starts: Any) -> Any:
    """The number of events in each cell's log."""
    sums = np.zeros(len(starts) - 1, np.int64)
    for cell in range(len(sums)):
        for i in range(starts[cell], starts[cell + 1]):
            sums[cell] += 1 << (flat[i] & 63)
    return sums


@numba.njit(cache=True)
def in_order(count: Any, first: Any, rings: Any, newest: Any) -> Any:
    """Whether the ticks of each cell never fall from its first event to its last, nor lie after `newest`."""
    top, slots = rings.shape[0] - 2, rings.shape[2]
    numbers, ticks = np.empty((top + 2) * slots, np.int64), np.empty((top + 2) * slots, np.int64)
    for cell in range(len(count)):
        total, used = count[cell], 0
        if total == 0:
            continue
        for rung in range(top + 1):
            latest = total >> top if rung == top else ((total >> rung) - 1) >> 1
            earliest = max(1, latest - 2 * slots + 1) if rung == top else max(0, latest - slots + 1)
            for place in range(earliest, latest + 1):
                numbers[used] = place << top if rung == top else (2 * place + 1) << rung
                ticks[used] = tick_of(numbers[used], cell, rings)
                used += 1
        last = first[cell]
        for at in np.argsort(numbers[:used]):
            if ticks[at] < last:
                return False
            last = ticks[at]
        if last > newest:
            return False
    return True
