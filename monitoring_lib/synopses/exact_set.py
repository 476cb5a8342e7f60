"""Distinct items, exact: the baseline, and the exact twin of every sketch of distinct counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitoring_lib.synopses._items import Column, Items, joined, occurring
from monitoring_lib.synopses.base import Bound, Synopsis


@dataclass(slots=True)
class ExactSet(Synopsis, tag=30, version=1):
    """The set of items itself: ``estimate == distinct items``, always. Items are in increasing order."""

    items: Items = field(default_factory=Items)

    def __post_init__(self) -> None:
        if not self.items.increase():
            raise ValueError("items: a set holds each item once, in increasing order")

    def update(self, items: Any, weights: Any = None) -> None:
        self.items = Items.of(_distinct(joined(self.items.column(), _distinct(occurring(items, weights)))))

    def __len__(self) -> int:
        return len(self.items)

    def estimate(self) -> float:
        return float(len(self.items))

    def bound(self, confidence: float = 1.0) -> Bound:
        return Bound(self.estimate(), self.estimate())

    def mismatch(self, other: ExactSet) -> str | None:
        return self.items.mismatch(other.items)

    @classmethod
    def _merged_all(cls, parts: Sequence[ExactSet]) -> ExactSet:
        return ExactSet(Items.of(_distinct(joined(*(part.items.column() for part in parts)))))


def _distinct(column: Column) -> Column:
    if isinstance(column, np.ndarray):
        return np.unique(column)
    once = pc.unique(column.cast(pa.large_string()))
    return once.take(pc.sort_indices(once))
