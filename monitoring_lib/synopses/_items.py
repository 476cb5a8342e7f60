"""Items as synopses take them in, whole numbers or strings in bulk, and as they name them in their images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from monitoring_lib.codec import Image, Ints
from monitoring_lib.hashing import Hashes, as_column, hash_items

Column: TypeAlias = "NDArray[Any] | pa.Array"
"""Whole numbers in NumPy, or strings in Arrow."""

CHUNK = 1 << 16
"""Items hashed at a time: their hashes are still in the cache when they are used."""


def as_weights(weights: Any, length: int) -> Ints | None:
    """The weights of `length` items as whole numbers of at least 0, or None if all are 1."""
    if weights is None:
        return None
    checked = np.asarray(weights)
    if checked.dtype.kind not in "iu":
        raise ValueError(f"weights: whole numbers expected, found {checked.dtype}")
    if checked.shape != (length,):
        raise ValueError(f"weights: {length} expected, one an item, found shape {checked.shape}")
    if length and checked.min() < 0:
        raise ValueError(f"weights: {checked.min()} is negative; what was counted cannot be taken back")
    return checked.astype(np.int64, copy=False)


def occurring(items: Any, weights: Any = None) -> Column:
    """The items that did occur, those whose weight is above 0: all that matters where duplicates do not."""
    column = as_column(items)
    checked = as_weights(weights, len(column))
    return column if checked is None else taken(column, np.flatnonzero(checked))


def hash_chunks(column: Column, seed: int) -> Iterator[tuple[int, Hashes]]:
    """The hashes of a column, chunk by chunk, each with the position it begins at."""
    for start in range(0, len(column), CHUNK):
        yield start, hash_items(column[start : start + CHUNK], seed)


def taken(column: Column, positions: NDArray[np.int64]) -> Column:
    """The items at these positions."""
    return column[positions] if isinstance(column, np.ndarray) else column.take(pa.array(positions))


def joined(first: Column, second: Column) -> Column:
    """One column after the other; strings and whole numbers do not mix."""
    if not len(first) or not len(second):
        return second if len(second) else first
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return np.concatenate([first.astype(np.int64, copy=False), second.astype(np.int64, copy=False)])
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        raise ValueError("items: a synopsis names strings or whole numbers; it cannot hold both")
    return pa.concat_arrays([first.cast(pa.large_string()), second.cast(pa.large_string())])


@dataclass(slots=True)
class Items(Image):
    """The items that a synopsis names, in the order of its arrays: strings or whole numbers, never both."""

    names: list[str] = field(default_factory=list)
    numbers: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        if self.names and len(self.numbers):
            raise ValueError("items: a synopsis names strings or whole numbers; it cannot hold both")
        if self.numbers.ndim != 1:
            raise ValueError(f"numbers: one dimension expected, found {self.numbers.ndim}")

    @classmethod
    def of(cls, column: Column) -> Items:
        if isinstance(column, np.ndarray):
            return cls(numbers=column.astype(np.int64))
        return cls(names=column.to_pylist())

    def column(self) -> Column:
        return pa.array(self.names, pa.large_string()) if self.names else self.numbers

    def increase(self) -> bool:
        """Whether each item is greater than the one before: in order, and none twice."""
        column = self.column()
        if isinstance(column, np.ndarray):
            return bool(np.all(column[1:] > column[:-1]))
        return bool(pc.all(pc.less(column[:-1], column[1:]), min_count=0).as_py())

    def __len__(self) -> int:
        return len(self.names) + len(self.numbers)

    def __iter__(self) -> Iterator[str | int]:
        return iter(self.names or self.numbers.tolist())

    def mismatch(self, other: Items) -> str | None:
        """Why these two cannot be told apart or joined, if so: one holds strings, the other whole numbers."""
        if (self.names and len(other.numbers)) or (other.names and len(self.numbers)):
            return "items: strings against whole numbers"
        return None
