"""How each site stands against what is known of it: known at all, silent for how long, of its usual volume.

Everything is a function of the epochs before, cell by cell, so a range judged at once and its epochs judged
one after the other give the same.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jobs.quality.statistics import Flags, Grid, GridNumbers
from monitoring_lib.config import Source

LEAST_HISTORY = 3
"""Epochs with events that a site needs before its volume is judged, or all of a shorter history."""


def history_epochs(source: Source) -> int:
    """How many epochs before a range `check_sites` wants to know the events of."""
    volume, freshness = source.quality.volume, source.quality.freshness
    drift = (one.history for one in source.quality.drift.values())
    return max(volume.history if volume else 0, freshness or 0, *drift)


@dataclass(frozen=True)
class KnownSites:
    """By site and epoch of the range."""

    known: Flags
    """Met in an epoch before, or listed: its silence and its volume are judged."""
    unknown: Flags
    """Has events, but is not listed; without a list: is met for the first time, though others were before."""


def standing_of(grid: Grid, met: Collection[str]) -> KnownSites:
    """Who is known when. What became of a site in an epoch before makes no difference."""
    met_before = grid.among(met)[:, None] | _earlier(grid.counts > 0)[:, grid.before :]
    if grid.source.sites is not None:
        listed = grid.among(grid.source.sites)[:, None]
        return KnownSites(listed | met_before, ~listed & (grid.events > 0))
    # The first sites of all have nobody to be compared with: they found the source.
    others = met_before.any(axis=0)
    return KnownSites(met_before, ~met_before & (grid.events > 0) & others)


def _earlier(happens: Flags) -> Flags:
    """Whether it happened in an epoch before."""
    ever: Flags = np.logical_or.accumulate(happens, axis=1)
    return np.concatenate([np.zeros((len(ever), 1), bool), ever[:, :-1]], axis=1)


def silent_epochs(grid: Grid, allowed: int) -> GridNumbers:
    """Epochs since each site last had events, this one included; counted up to one more than is allowed."""
    columns = np.arange(grid.counts.shape[1])
    # Before the origin there is nothing to be silent in.
    nothing_before = max(-1, grid.before - grid.first - 1)
    last = np.maximum.accumulate(np.where(grid.counts > 0, columns, nothing_before), axis=1)
    silent: GridNumbers = np.minimum(columns - last, allowed + 1)
    return silent[:, grid.before :]


@dataclass(frozen=True)
class Usual:
    """The median of a site's epochs before, and of how many; from the first of them that had events."""

    median: npt.NDArray[np.float64]
    epochs: GridNumbers
    judged: Flags
    """Where enough of them had events, and the median is not 0."""


def usual_volume(grid: Grid, history: int) -> Usual:
    """Of the `history` epochs before each epoch of the range."""
    before = grid.counts[:, grid.before - history : -1]
    median = np.zeros(grid.events.shape)
    epochs, with_events = np.zeros_like(grid.events), np.zeros_like(grid.events)
    # A site at a time bounds the memory by one site's windows.
    for site in range(len(grid.sites)):
        windows = np.lib.stride_tricks.sliding_window_view(before[site], history)
        started = np.logical_or.accumulate(windows > 0, axis=1)
        counted = started.sum(axis=1)
        in_order = np.sort(np.where(started, windows, np.iinfo(np.int64).max), axis=1)
        lower = np.take_along_axis(in_order, np.maximum(counted - 1, 0)[:, None] // 2, axis=1)[:, 0]
        upper = np.take_along_axis(in_order, np.minimum(counted // 2, history - 1)[:, None], axis=1)[:, 0]
        median[site] = np.where(counted > 0, (lower.astype(float) + upper) / 2, 0)
        epochs[site], with_events[site] = counted, (windows > 0).sum(axis=1)
    enough = with_events >= min(LEAST_HISTORY, history)
    return Usual(median, epochs, enough & (median > 0))
