"""The linear programme over the lower hulls of rate curves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from monitoring_lib.codec import Floats
from monitoring_lib.protocols.aggregates.allocation import fitted, waterfill
from monitoring_lib.protocols.aggregates.terms import UNIT, WidthConstraints, Widths


def lower_hull(widths: Floats, rates: Floats) -> tuple[Floats, Floats]:
    """The corners of the largest convex function, falling with the width, that lies below the points."""
    lowest = np.minimum.accumulate(rates)
    corners: list[int] = []
    for at in range(len(widths)):
        if corners and widths[at] == widths[corners[-1]]:
            continue
        while len(corners) > 1:
            one, two = corners[-2], corners[-1]
            if (lowest[two] - lowest[one]) * (widths[at] - widths[one]) < (lowest[at] - lowest[one]) * (
                widths[two] - widths[one]
            ):
                break
            corners.pop()
        corners.append(at)
    return widths[corners], lowest[corners]


def cheapest(
    constraints: WidthConstraints, hulls: Sequence[tuple[Floats, Floats]], costs: Floats, quantum: int
) -> Widths | None:
    """Whole quanta near the widths that minimise ``sum C_i rate_i(W_i)`` under the rows; None if none are found.

    Rounding and the solver's tolerance may overfill a row: the excess is taken off again exactly, and what the rows
    have left over is waterfilled.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix, csr_matrix, hstack, vstack

    members = np.flatnonzero(constraints.bound_objects)
    rows: list[int] = []
    columns: list[int] = []
    cells: list[float] = []
    right: list[float] = []
    for at, number in enumerate(members.tolist()):
        widths, rates = hulls[number]
        for one in range(max(len(widths) - 1, 1)):
            slope = 0.0
            if len(widths) > 1:
                slope = (rates[one + 1] - rates[one]) / (widths[one + 1] - widths[one])
            # rate_i >= rates[one] + slope * (W_i - widths[one])
            rows += [len(right), len(right)]
            columns += [at, len(members) + at]
            cells += [slope, -1.0]
            right.append(slope * widths[one] - rates[one])
    above = coo_matrix((cells, (rows, columns)), (len(right), 2 * len(members)))
    loads = csr_matrix(constraints.weights[:, members].astype(float))
    matrix = vstack([above, hstack([loads, csr_matrix((len(constraints.bounds), len(members)))])])
    limits = np.concatenate([right, constraints.bounds / UNIT])
    caps = [(0.0, float(cap) / UNIT) for cap in constraints.caps[members]] + [(0.0, None)] * len(members)
    weights = np.concatenate([np.zeros(len(members)), costs[members]])
    found = linprog(weights, matrix.tocsr(), limits, bounds=caps, method="highs")
    if found.x is None:
        return None
    chosen = np.zeros(len(constraints.caps), np.int64)
    most = np.minimum(found.x[: len(members)] * UNIT, constraints.caps[members].astype(float))
    chosen[members] = (most + 1e-6 * UNIT).astype(np.int64) // quantum * quantum
    kept = fitted(constraints, chosen) // quantum * quantum
    return waterfill(constraints, quantum, np.where(constraints.bound_objects, kept, 0))


def expected(hulls: Sequence[tuple[Floats, Floats]], costs: Floats, widths: Widths) -> float:
    """Messages a tick that the curves foresee at these widths."""
    pairs = zip(hulls, costs, widths, strict=True)
    return float(sum(cost * np.interp(width / UNIT, *hull) for hull, cost, width in pairs))
