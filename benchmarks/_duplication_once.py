"""How near the sample's share of items seen once is to that of all items: a part of `benchmarks.duplication`.

Given its size s, a sample is drawn without replacement out of the N different items, K of which were seen once. So the
number seen once in it is hypergeometric, with a standard error of the share of::

    sqrt(p (1 - p) / s * (N - s) / (N - 1)),   p = K / N

How often it is beyond 3 of them is computed exactly for each epoch; the normal law is not assumed. The epochs of
one run are one draw, so several samples are drawn, and each run counts by its share of epochs beyond.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, hypergeom

from monitoring_lib.promises import CHANCE
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.synopses.distinct_sample import DistinctSample

SEEDS, ERRORS = 20, 3


@dataclass
class OnceShare:
    """Samples of one stream under several seeds, and at each epoch (items, once of them, sampled, once of those)."""

    capacity: int
    samples: list[DistinctSample] = field(init=False)
    seen: list[list[tuple[int, int, int, int]]] = field(init=False)
    epochs: int = 0

    def __post_init__(self) -> None:
        self.samples = [DistinctSample(self.capacity, seed) for seed in range(SEEDS)]
        self.seen = [[] for _ in range(SEEDS)]

    def take(self, counts: Counts | None, items: int, once: int) -> None:
        """An epoch, and what the exact answer says after it."""
        self.epochs += 1
        for sample, seen in zip(self.samples, self.seen, strict=True):
            if counts is not None:
                sample.update(counts.names.column, counts.sums)
            sampled = list(dict(sample).values())
            if sampled:
                seen.append((items, once, len(sampled), sampled.count(1)))

    def beyond(self) -> list[int]:
        """For each seed, the epochs at which the share is further off than 3 standard errors."""
        return [int(np.count_nonzero(_is_beyond(*_columns(seen)))) for seen in self.seen]

    def expected(self) -> float:
        """How many epochs of a run are, on average."""
        return float(np.mean([_chances(*_columns(seen)).sum() for seen in self.seen]))

    def most_beyond(self) -> float:
        """The sum over all seeds of the share of epochs beyond, above which something is wrong."""
        return float(binom.ppf(1 - CHANCE, SEEDS, self.expected() / self.epochs))

    def is_kept(self) -> bool:
        return sum(self.beyond()) / self.epochs <= self.most_beyond()


Column = NDArray[np.int64]


def _columns(seen: list[tuple[int, int, int, int]]) -> tuple[Column, Column, Column, Column]:
    items, once, sampled, sampled_once = np.array(seen, np.int64).reshape(-1, 4).T
    return items, once, sampled, sampled_once


def _reach(items: Column, once: Column, sampled: Column) -> NDArray[np.float64]:
    """3 standard errors of the number seen once."""
    share = once / items
    return np.asarray(ERRORS * np.sqrt(share * (1 - share) * sampled * (items - sampled) / np.maximum(items - 1, 1)))


def _is_beyond(items: Column, once: Column, sampled: Column, found: Column) -> NDArray[np.bool_]:
    return np.asarray(np.abs(found - sampled * once / items) > _reach(items, once, sampled) + 1e-9)


def _chances(items: Column, once: Column, sampled: Column, found: Column) -> NDArray[np.float64]:
    """The chance of each epoch to be beyond."""
    mean, reach = sampled * once / items, _reach(items, once, sampled) + 1e-9
    below = hypergeom.cdf(np.ceil(mean - reach) - 1, items, once, sampled)
    above = hypergeom.sf(np.floor(mean + reach), items, once, sampled)
    return np.asarray(below + above)
