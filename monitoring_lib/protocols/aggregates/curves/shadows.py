"""Shadow filters: how many bounds an object would send at other widths, counted where its values are."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from monitoring_lib.codec import Ints
from monitoring_lib.protocols.aggregates.filters import Filter, whole_steps
from monitoring_lib.protocols.aggregates.terms import UNIT, WIDEST

LEVELS = 14


def widths_around(bases: Ints) -> Ints:
    """0 and thirteen widths from base / 16 to 16 * base, one row an object; never less than a step apart from 0."""
    factors = 2.0 ** ((np.arange(13) - 6) / 1.5)
    around = np.minimum(np.maximum(bases, UNIT)[:, None] * factors, float(WIDEST)).astype(np.int64)
    return np.concatenate([np.zeros((len(bases), 1), np.int64), around], axis=1)


def shadow_steps(bases: Ints, filter_: Filter) -> Ints:
    return whole_steps(widths_around(bases), filter_)


@numba.njit(cache=True)
def count_bounds(values: Any, firsts: Any, known: Any, steps: Any, shadows: Any, runs: bool) -> None:
    """Adds to the counts in the first half of `shadows`; the second half holds the doubled centres."""
    count, ticks = values.shape
    levels = steps.shape[1]
    for place in range(count):
        for level in range(levels):
            width, centre = steps[place, level], shadows[place, levels + level]
            tick, heard = firsts[place], known[place]
            sent = 0
            while tick < ticks:
                low = (centre - width) >> 1
                if heard:
                    while tick < ticks and low <= values[place, tick] <= low + width:
                        tick += 1
                    if tick == ticks:
                        break
                heard = True
                sent += 1
                least = most = values[place, tick]
                centre = 2 * least
                tick += 1
                if not runs:
                    continue
                # The loop of `cut_runs` again: a function that both call takes a quarter longer there.
                while tick < ticks:
                    below, above = min(least, values[place, tick]), max(most, values[place, tick])
                    if above - below > width:
                        break
                    least, most = below, above
                    tick += 1
                centre = least + most
                if tick == ticks:
                    centre = min(max(2 * values[place, ticks - 1], 2 * most - width), 2 * least + width)
            shadows[place, level] += sent
            shadows[place, levels + level] = centre
