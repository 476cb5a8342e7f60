"""The tests of single items, and who gets which part of the leeway.

Of an item, V holds the sum over all sites of each of its counters, V0 that of its last synchronisation, and d_i how
far those of site i have moved since. With shares c_i of the sites that add up to 1 and T = threshold (1 + slack), an
item that was below the threshold is safe while, at every site, strictly::

    normal . d_i < c_i * normal . normal,   normal = max(V0, T) - V0, elementwise

because then some counter's sum is below T. One that was not is safe while in every row, with
L = threshold (1 - slack)::

    d_i >= -c_i * (V0 - L)

An item that nobody tracks has V0 = 0 and the even share 1 / n. With exact counters it is safe while its count is below
T / n at every site. With a sketch a site cannot name the items that other sites count in the same cells, so the cells
are watched: one that reaches T / n at a site is full, which is told to all, and a site tracks every item that it
has seen and whose cells are all full. If the sums of all counters of an item reach T, then in each row some site
has T / n or more: its cells are all full. So no item that occurs in the window reaches T untracked.

Papapetrou, Garofalakis and Deligiannakis, Sketching Distributed Sliding-Window Data Streams, section 6; the signs that
are printed there are swapped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.codec import Floats, Ints
from monitoring_lib.methods import Ask

STRICT = 1e-9
"""By how much, relative, bounds are drawn in: more than rounding can move a value across them."""


@dataclass(frozen=True)
class ItemLimits:
    """The threshold with its slack, drawn in."""

    threshold: float
    low: float
    high: float

    @classmethod
    def of(cls, ask: Ask) -> ItemLimits:
        threshold, slack = ask.params.threshold, ask.params.slack
        return cls(threshold, threshold * (1 - slack) * (1 + STRICT), threshold * (1 + slack) * (1 - STRICT))

    def over(self, totals: Ints) -> NDArray[np.bool_]:
        """Which items (rows) are over the threshold, by the smallest of their counters' sums."""
        found: NDArray[np.bool_] = totals.min(axis=1) >= self.threshold
        return found

    def full(self, sites: int) -> float:
        """The count at one site from which on an untracked item, or a cell, has to be told."""
        return self.high / sites

    def fails(self, drift: Ints, totals: Ints, shares: Floats) -> NDArray[np.bool_]:
        """Which of the tracked items fail their test at a site."""
        normal = np.maximum(self.high - totals, 0.0)
        rises = (normal * drift).sum(axis=1) >= shares * (normal * normal).sum(axis=1) * (1 - STRICT)
        falls = (drift < -shares[:, None] * (totals - self.low)).any(axis=1)
        found: NDArray[np.bool_] = np.where(self.over(totals), falls, rises)
        return found


def weights_of(share: str, counters: Ints) -> Any:
    """By what a site's part of an item's leeway is measured: alike, by its own count of it, or by the count's root."""
    counts = 1.0 + counters.min(axis=1)
    return {"even": np.ones(len(counts)), "count": counts, "root": np.sqrt(counts)}[share]


def outlived(since: Any, epoch: int, ask: Ask) -> Any:
    """Whether a whole window has passed since an item that was not over was synchronised, or a full cell was told.

    Then it is let go. Every node finds this out by itself, and tests anew in the same epoch.
    """
    return (epoch - since) * ask.ticks >= (ask.span or 0)
