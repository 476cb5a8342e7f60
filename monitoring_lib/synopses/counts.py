"""Exact sums by item: what a site counted in one epoch, and the exact twin of every sketch of counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from monitoring_lib.codec import Ints, Names
from monitoring_lib.errors import DataError
from monitoring_lib.synopses.base import Bound, Synopsis

_MOST = 2**63 - 1


class WideSumError(DataError, ValueError):
    """A sum that needs more than 64 bits: what was counted is at fault, not the one who counts."""


@dataclass(slots=True)
class Counts(Synopsis, tag=1, version=1):
    """Item to sum, exact: ``estimate == exact``, always. Items are sorted by name, none twice, none of sum 0.

    Sums have 64 bits. One that would need more is refused by name, never wrapped.
    """

    names: Names = field(default_factory=Names)
    sums: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        self.names = Names(self.names)
        if self.sums.shape != (len(self.names),):
            raise ValueError(f"sums: {len(self.names)} expected, one a name, found shape {self.sums.shape}")

    @classmethod
    def of(cls, items: Sequence[str] | pa.Array, weights: NDArray[Any] | None = None) -> Counts:
        """The sums of the weights (1 each if none are given) by item."""
        column = Names(items).column
        values = np.ones(len(column), np.int64) if weights is None else np.asarray(weights)
        if values.dtype.kind not in "iu":
            raise ValueError(f"weights: whole numbers expected, found {values.dtype}")
        names, sums = _summed(column, values)
        order = pc.sort_indices(names).to_numpy()
        order = order[sums[order] != 0]
        return cls(Names(names.take(pa.array(order))), sums[order])

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[str, int]]) -> Counts:
        """From items already summed: each item once, in any order."""
        kept = sorted((name, value) for name, value in pairs if value)
        wide = next((name for name, value in kept if not -_MOST <= value <= _MOST), None)
        if wide is not None:
            raise ValueError(f"sums: that of {wide!r} does not fit in 64 bits")
        return cls(Names(name for name, _ in kept), np.array([value for _, value in kept], np.int64))

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

    @classmethod
    def _merged_all(cls, parts: Sequence[Counts]) -> Counts:
        """The sums of all parts, in one pass."""
        parts = [part for part in parts if len(part)] or [cls()]
        return cls.of(
            pa.concat_arrays([part.names.column for part in parts]), np.concatenate([part.sums for part in parts])
        )


def _summed(column: pa.StringArray, values: NDArray[Any]) -> tuple[pa.StringArray, NDArray[np.int64]]:
    """Each item with the sum of its values, in no order."""
    largest = max(-int(values.min()), int(values.max())) if len(values) else 0
    if largest * len(values) <= _MOST:
        names, (sums,) = _grouped(column, values.astype(np.int64))
        return names, sums
    # Sums of the upper and of the lower 32 bits cannot overflow.
    names, (high, low) = _grouped(column, (values >> 32).astype(np.int64), (values & 0xFFFFFFFF).astype(np.int64))
    exact = [(upper << 32) + lower for upper, lower in zip(high.tolist(), low.tolist(), strict=True)]
    wide = next((at for at, value in enumerate(exact) if not -_MOST <= value <= _MOST), None)
    if wide is not None:
        raise WideSumError(
            f"weights: the sum of {names[wide].as_py()[:80]!r} is {exact[wide]}, which does not fit in 64 bits; give"
            " the value a smaller `scale`"
        )
    return names, np.array(exact, np.int64)


def _grouped(column: pa.StringArray, *values: NDArray[np.int64]) -> tuple[pa.StringArray, list[NDArray[np.int64]]]:
    numbered = {str(number): part for number, part in enumerate(values)}
    table = pa.table({"item": column, **numbered}).group_by("item").aggregate([(name, "sum") for name in numbered])
    return Names(table["item"]).column, [table[f"{name}_sum"].to_numpy().astype(np.int64) for name in numbered]
