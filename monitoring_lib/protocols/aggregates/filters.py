"""Filters: which ticks of an epoch need a new bound, and the series that they are read from.

A bound is ``[low, low + width]`` in whole steps, with ``low = (centre - width) >> 1`` for a doubled centre. A value on
the border is inside (an open border would cost up to 1.4 times as much on quantised data).
"""

from __future__ import annotations

from typing import Any, Literal

import numba
import numpy as np

from monitoring_lib.codec import Ints
from monitoring_lib.protocols.aggregates.terms import UNBOUNDED, UNIT

Filter = Literal["runs", "recentre"]

_FREE = -1
"""As whole steps: the width of an object without a bound."""


def whole_steps(widths: Ints, filter_: Filter) -> Ints:
    """What of a width counts where it meets values: whole steps, an even number of them to both sides of a centre."""
    steps = widths // UNIT
    if filter_ == "recentre":
        steps &= ~1
    return np.where(widths >= UNBOUNDED, _FREE, steps)


@numba.njit(cache=True)
def fill(
    held: Any, known: Any, ticks: int, starts: Any, rows: Any, at: Any, readings: Any, first: int, zeros: Any
) -> Any:
    """The value of each object at each tick, and the tick from which it takes part (0 if it is known).

    The readings of the object at each place begin at `starts` and are `rows`, sorted by tick; `first` is the epoch's
    first tick. A tick without a reading holds the last value, or is 0 where `zeros` says so.
    """
    count = len(held)
    values = np.zeros((count, ticks), np.int64)
    firsts = np.zeros(count, np.int64)
    for place in range(count):
        value, tick = held[place], 0
        row, end = starts[place], starts[place] + rows[place]
        if not known[place]:
            tick = firsts[place] = at[row] - first
        while row < end:
            next_ = at[row] - first
            if not zeros:
                values[place, tick:next_] = value
            value = readings[row]
            values[place, next_] = value
            tick = next_ + 1
            row += 1
        if not zeros:
            values[place, tick:] = value
    return values, firsts


@numba.njit(cache=True)
def _room(sent: Any, rows: int) -> Any:
    """The same rows with room for another: an array as large as the series would cost more than the filter."""
    if rows < sent.shape[1]:
        return sent
    larger = np.empty((3, 2 * rows), np.int64)
    larger[:, :rows] = sent
    return larger


@numba.njit(cache=True)
def cut_runs(values: Any, firsts: Any, known: Any, centres: Any, steps: Any) -> Any:
    """The longest runs of ticks whose range fits the width: the fewest bounds that hold at every tick.

    The standing bound holds for free while it fits. A run that ends inside the epoch gets the middle of its range as
    centre; the last one lies as near to the newest value as the run allows.
    """
    count, ticks = values.shape
    sent = np.empty((3, 16 * count + ticks), np.int64)
    rows = 0
    for place in range(count):
        width, tick = steps[place], firsts[place]
        if known[place]:
            if width < 0:
                continue
            low = (centres[place] - width) >> 1
            while tick < ticks and low <= values[place, tick] <= low + width:
                tick += 1
        while tick < ticks:
            start = tick
            least = most = values[place, tick]
            tick += 1
            if width < 0:
                tick = ticks
                centre = 2 * least
            else:
                while tick < ticks:
                    value = values[place, tick]
                    below, above = min(least, value), max(most, value)
                    if above - below > width:
                        break
                    least, most = below, above
                    tick += 1
                centre = least + most
                if tick == ticks:
                    newest = 2 * values[place, ticks - 1]
                    centre = min(max(newest, 2 * most - width), 2 * least + width)
            sent = _room(sent, rows)
            sent[0, rows], sent[1, rows], sent[2, rows] = place, start, centre
            rows += 1
            centres[place] = centre
    return sent[0, :rows].copy(), sent[1, :rows].copy(), sent[2, :rows].copy()


@numba.njit(cache=True)
def recentre(values: Any, firsts: Any, known: Any, centres: Any, steps: Any) -> Any:
    """The paper's filter (section 3): a value outside its bound becomes the centre of the next one."""
    count, ticks = values.shape
    sent = np.empty((3, 16 * count + ticks), np.int64)
    rows = 0
    for place in range(count):
        width, heard = steps[place], known[place]
        if heard and width < 0:
            continue
        low = (centres[place] - width) >> 1
        for tick in range(firsts[place], ticks):
            value = values[place, tick]
            if heard and low <= value <= low + width:
                continue
            heard = True
            centres[place] = 2 * value
            low = value - (width >> 1)
            sent = _room(sent, rows)
            sent[0, rows], sent[1, rows], sent[2, rows] = place, tick, 2 * value
            rows += 1
            if width < 0:
                break
    return sent[0, :rows].copy(), sent[1, :rows].copy(), sent[2, :rows].copy()


def new_bounds(
    filter_: Filter, values: Ints, firsts: Ints, known: Any, centres: Ints, steps: Ints
) -> tuple[Ints, Ints, Ints]:
    """Places, ticks and doubled centres of the bounds that must be sent; `centres` is changed to the newest ones."""
    cut = cut_runs if filter_ == "runs" else recentre
    places, ticks, sent = cut(values, firsts, known, centres, steps)
    return places, ticks, sent


def in_two_stages(
    values: Ints, firsts: Ints, known: Any, centres: Ints, held: Ints, steps: Ints, lag: int
) -> tuple[Ints, Ints, Ints]:
    """The paper's filter where the first `lag` ticks go by the widths `held`."""
    first, rest = np.ascontiguousarray(values[:, :lag]), np.ascontiguousarray(values[:, lag:])
    begun = recentre(first, np.minimum(firsts, lag), known, centres, held)
    then = recentre(rest, np.maximum(firsts - lag, 0), known | (firsts < lag), centres, steps)
    places, ticks, sent = (np.concatenate(pair) for pair in zip(begun, (then[0], then[1] + lag, then[2]), strict=True))
    return places, ticks, sent
