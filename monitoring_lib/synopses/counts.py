"""Exact sums by item: what a site counted in one epoch, and the exact twin of every sketch of counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from monitoring_lib.codec import Ints
from monitoring_lib.synopses.base import Bound, Synopsis


@dataclass(slots=True)
class Counts(Synopsis, tag=1, version=1):
    """Item to sum, exact: ``estimate == exact``, always. Items are sorted by name, none twice, none of sum 0."""

    names: list[str] = field(default_factory=list)
    sums: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        if self.sums.shape != (len(self.names),):
            raise ValueError(f"sums: {len(self.names)} expected, one a name, found shape {self.sums.shape}")

    @classmethod
    def of(cls, items: Sequence[str] | pa.Array, weights: NDArray[Any] | None = None) -> Counts:
        """The sums of the weights (1 each if none are given) by item."""
        column = items if isinstance(items, pa.Array) else pa.array(items, pa.string())
        values = np.ones(len(column), np.int64) if weights is None else np.asarray(weights)
        if values.dtype.kind not in "iu":
            raise ValueError(f"weights: whole numbers expected, found {values.dtype}")
        summed = pa.table({"item": column, "sum": values}).group_by("item").aggregate([("sum", "sum")])
        summed = summed.filter(pc.not_equal(summed["sum_sum"], 0)).sort_by("item")
        return cls(summed["item"].to_pylist(), summed["sum_sum"].to_numpy().astype(np.int64))

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[str, int]]) -> Counts:
        """From items already summed: each item once, in any order."""
        kept = sorted((name, value) for name, value in pairs if value)
        return cls([name for name, _ in kept], np.array([value for _, value in kept], np.int64))

    def update(self, items: Sequence[str] | pa.Array, weights: NDArray[Any] | None = None) -> None:
        merged = self.merge(Counts.of(items, weights))
        self.names, self.sums = merged.names, merged.sums

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return zip(self.names, self.sums.tolist(), strict=True)

    def __len__(self) -> int:
        return len(self.names)

    def estimate(self, item: str) -> int:
        return dict(self).get(item, 0)

    def bound(self, item: str) -> Bound:
        exact = self.estimate(item)
        return Bound(exact, exact)

    def _merged(self, other: Counts) -> Counts:
        return Counts.of(self.names + other.names, np.concatenate([self.sums, other.sums]))
