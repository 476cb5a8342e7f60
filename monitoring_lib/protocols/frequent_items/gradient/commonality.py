"""Gradient: how common the frequent items of the sites are, measured on the way up in one epoch of raw counts.

The paper's commonality (section 4.3.3) is the mean, over the sites that have a locally frequent item, of the share
of these items that are globally frequent too; frequent means at least `error` of the site's, or of the whole,
total. With the weight ``1 / (locally frequent items)`` on each such item of a site, the mean is the sum of the
weights of the globally frequent items over the number of sites: so weights add up through the tree, and no site
has to be asked.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.protocols.frequent_items.gradient.letters import SampleCounts
from monitoring_lib.synopses.counts import Counts


def _frequent(counts: NDArray[np.int64], error: Fraction, total: int) -> NDArray[np.bool_]:
    """At least ``error * total``, which is the next whole number where it is none."""
    found: NDArray[np.bool_] = counts >= -(-error.numerator * total // error.denominator)
    return found


def sample_of(counts: Counts, error: Fraction, total: int) -> SampleCounts:
    """At a site."""
    frequent = _frequent(counts.sums, error, total)
    among = int(frequent.sum())
    return SampleCounts(total, min(among, 1), counts.names, counts.sums, np.where(frequent, 1 / max(among, 1), 0.0))


def measured(sample: SampleCounts, error: Fraction) -> float:
    """At the root, of all sites' raw counts."""
    if not sample.sites:
        return 0.0
    common = sample.weights[_frequent(sample.counts, error, sample.total)].sum()
    return min(1.0, float(common) / sample.sites)
