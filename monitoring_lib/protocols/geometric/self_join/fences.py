"""The tests that keep the sum of the sites' arrays in bounds while each site looks at its own array alone.

With V0 the sum of the n sites' arrays at the last synchronisation, N its norms row by row, F the smallest of their
squares, and d_i how far the array of site i has moved since, V = V0 + sum d_i. All values here are n times those of
the paper, so that nothing is divided:

    high = sqrt(F / (1 - tolerance)),   low = sqrt(F / (1 + tolerance))

A site has for each row an upper value, whose mean over the sites is at least ``||V||``, and a lower value, whose mean
is at most ``||V||``. It tests, with slacks whose sums over all sites are 0::

    normal . upper - high + slack <= 0,  normal >= 0 with sum 1, the same at every site
    lower - low + slack >= 0             in every row

So the mean of some row's upper value is at most `high`, that of every row's lower value at least `low`, and
``(1 - tolerance) f <= F <= (1 + tolerance) f`` for ``f = min ||V||^2``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from monitoring_lib.codec import Floats, Ints

STRICT = 1e-9
"""By how much, relative, bounds are drawn in: more than rounding can move a value across them."""


def bounds(norms: Floats, tolerance: float) -> tuple[float, float]:
    """`low` and `high` for these norms."""
    smallest = float(norms.min())
    low = smallest / math.sqrt(1 + tolerance) * (1 + STRICT)
    return low, smallest / math.sqrt(1 - tolerance) * (1 - STRICT)


def first_normal(fence: Fence, norms: Floats, tolerance: float) -> Floats:
    """The normal right after a synchronisation, as every node finds it by itself."""
    if not norms.min():
        return np.full(len(norms), 1 / len(norms))
    return fence.normal(norms, bounds(norms, tolerance)[1])


class Fence(ABC):
    """How a method makes the values of a site's tests, and how it chooses the normal of the upper one."""

    needs_total: bool
    """Whether sites must know V0 itself; if not, the norms of its rows are enough."""

    @abstractmethod
    def upper(self, sites: int, norms: Floats, total: Ints, drift: Floats) -> Floats: ...

    @abstractmethod
    def lower(self, sites: int, norms: Floats, total: Ints, drift: Floats) -> Floats: ...

    @abstractmethod
    def normal(self, means: Floats, high: float) -> Floats:
        """From the means of all sites' upper values, one of which is below `high`."""


class ConvexFence(Fence):
    """Ours. With ``u = V0 + n d_i``: upper ``||max(u, 0)||``, lower ``u . V0 / ||V0||``.

    Both are convex or linear in u, and the mean of u over the sites is V, whose counts are not negative: so the mean of
    the first is at least ``||V||``, that of the second at most ``||V||``. Arrivals and expiries cancel in both. The
    upper test looks at one row, that of the smallest mean: a row of each site's own choice would be unsound.
    """

    needs_total = True

    def upper(self, sites: int, norms: Floats, total: Ints, drift: Floats) -> Floats:
        moved = np.maximum(total + float(sites) * drift, 0.0)
        return _norms(moved)

    def lower(self, sites: int, norms: Floats, total: Ints, drift: Floats) -> Floats:
        moved = total + float(sites) * drift
        products: Floats = np.einsum("ij,ij->i", moved, total.astype(np.float64))
        return products / norms

    def normal(self, means: Floats, high: float) -> Floats:
        chosen = np.zeros(len(means))
        chosen[int(means.argmin())] = 1.0
        return chosen


class HalfSpaceFence(Fence):
    """The paper's. Upper ``||V0|| + n ||max(d_i, 0)||``, lower ``||V0|| - n ||min(d_i, 0)||``.

    The upper values of all rows lie in the half-space through p = max(means, high), elementwise, whose normal is
    p - means: rows whose mean is above `high` do not count in it.

    Papapetrou, Garofalakis and Deligiannakis, Sketching Distributed Sliding-Window Data Streams, section 6.
    """

    needs_total = False

    def upper(self, sites: int, norms: Floats, total: Ints, drift: Floats) -> Floats:
        return norms + sites * _norms(np.maximum(drift, 0.0))

    def lower(self, sites: int, norms: Floats, total: Ints, drift: Floats) -> Floats:
        return norms - sites * _norms(np.minimum(drift, 0.0))

    def normal(self, means: Floats, high: float) -> Floats:
        leeway = np.maximum(high - means, 0.0)
        found: Floats = leeway / leeway.sum()
        return found


def _norms(rows: Any) -> Floats:
    found: Floats = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return found
