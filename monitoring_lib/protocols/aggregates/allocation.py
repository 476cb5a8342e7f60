"""Widths that keep every row of the queries: uniform ones, waterfilled ones, and repairs of others."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from monitoring_lib.protocols.aggregates.terms import UNBOUNDED, WidthConstraints, Widths


def uniform(constraints: WidthConstraints) -> Widths:
    """``W_i = min_j b_j / sum_i |K_ij|``: every object of a row has the same share, and the tightest row decides."""
    widths = constraints.caps.copy()
    if len(constraints.bounds):
        shares = np.maximum(constraints.bounds, 0) // constraints.weights.sum(axis=1)
        each = np.where(constraints.weights > 0, shares[:, None], UNBOUNDED).min(axis=0)
        widths = np.minimum(widths, each)
    return widths


def waterfill(constraints: WidthConstraints, quantum: int, floor: Widths | None = None) -> Widths:
    """All widths rise together; when a row is full its objects stop and the others go on. Never below `uniform`.

    Widths are whole quanta; what a row has left over is handed out quantum by quantum, in the order of the objects.
    With a `floor`, which must keep the rows, widths rise from there.
    """
    bound = constraints.bound_objects
    start = np.zeros(len(constraints.caps), np.int64) if floor is None else floor.copy()
    start[~bound] = 0
    free = ~bound & (constraints.caps >= UNBOUNDED)
    widths = _waterfill(constraints.weights, constraints.bounds, constraints.caps, start, bound.copy(), quantum)
    return np.where(bound, widths, np.where(free, UNBOUNDED, constraints.caps // quantum * quantum))


@numba.njit(cache=True)
def _waterfill(weights: Any, bounds: Any, caps: Any, widths: Any, active: Any, quantum: int) -> Any:
    rows, count = weights.shape
    left = bounds.copy()
    for row in range(rows):
        for at in range(count):
            left[row] -= weights[row, at] * widths[at]
    while active.any():
        rise = np.int64(1) << 60
        for at in range(count):
            if active[at]:
                rise = min(rise, max(caps[at] - widths[at], 0) // quantum)
        for row in range(rows):
            load = 0
            for at in range(count):
                if active[at]:
                    load += weights[row, at]
            if load > 0:
                rise = min(rise, max(left[row], 0) // (load * quantum))
        for at in range(count):
            if active[at]:
                widths[at] += rise * quantum
                for row in range(rows):
                    left[row] -= weights[row, at] * rise * quantum
        full = np.zeros(rows, np.bool_)
        for row in range(rows):
            load = 0
            for at in range(count):
                if active[at]:
                    load += weights[row, at]
            full[row] = load > 0 and left[row] < load * quantum
        for at in range(count):
            if active[at] and caps[at] - widths[at] < quantum:
                active[at] = False
            for row in range(rows):
                if full[row] and weights[row, at] > 0:
                    active[at] = False
    _hand_out(weights, left, caps, widths, quantum)
    return widths


@numba.njit(cache=True)
def _hand_out(weights: Any, left: Any, caps: Any, widths: Any, quantum: int) -> None:
    """One quantum an object and turn, while any fits."""
    rows, count = weights.shape
    given = True
    while given:
        given = False
        for at in range(count):
            fits, bound = caps[at] - widths[at] >= quantum, False
            for row in range(rows):
                if weights[row, at] > 0:
                    bound = True
                    fits = fits and weights[row, at] * quantum <= left[row]
            if fits and bound:
                widths[at] += quantum
                given = True
                for row in range(rows):
                    left[row] -= weights[row, at] * quantum


def fitted(constraints: WidthConstraints, widths: Widths) -> Widths:
    """The same widths where every row keeps them; those of an overfull row shrink in proportion."""
    kept = np.minimum(np.where(constraints.bound_objects & (widths >= UNBOUNDED), 0, widths), constraints.caps)
    for row, bound in zip(constraints.weights, constraints.bounds.tolist(), strict=True):
        members = np.flatnonzero(row)
        load = int(row[members] @ kept[members])
        if load > bound:
            kept[members] = [int(width) * max(bound, 0) // load for width in kept[members]]
    return kept


def grow(constraints: WidthConstraints, widths: Widths, order: Any) -> Widths:
    """Objects take, in this order, all that their rows have left over: ``W_i += min_j left_j / |K_ij|``."""
    grown, left = widths.copy(), constraints.left(widths)
    for at in order:
        rows = np.flatnonzero(constraints.weights[:, at])
        if not len(rows):
            continue
        gain = min(int((left[rows] // constraints.weights[rows, at]).min()), int(constraints.caps[at] - grown[at]))
        if gain > 0:
            grown[at] += gain
            left[rows] -= constraints.weights[rows, at] * gain
    return grown
