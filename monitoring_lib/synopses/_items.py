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
from monitoring_lib.hashing import SPARK_SEED, Hashes, as_column, hash_items
from monitoring_lib.synopses.hashes import CHUNK, as_hashes

Column: TypeAlias = "NDArray[Any] | pa.Array"
"""Whole numbers in NumPy, or strings in Arrow."""

MOST = (1 << 63) - 1
"""The largest whole number that an item, a weight or a sum can be."""


def whole_numbers(values: Any, name: str) -> Ints:
    """Whole numbers as 64-bit signed ones. What does not fit is refused: 2^64 - 1 must not become -1."""
    given = np.asarray(values)
    if given.dtype.kind in "fO" and not isinstance(values, np.ndarray):  # as NumPy takes integers from 2^63 on
        given = np.array(values, dtype=object)
    if given.dtype.kind in "uO":
        beyond = [value for value in _extremes(given) if not -MOST - 1 <= value <= MOST]
        if beyond:
            raise ValueError(
                f"{name}: {beyond[0]} is not within -2^63 to 2^63 - 1, the whole numbers that can be taken"
            )
    if given.dtype.kind not in "iu" and given.size:
        raise ValueError(f"{name}: whole numbers expected, found {np.asarray(values).dtype}")
    return given.astype(np.int64, copy=False)


def _extremes(given: NDArray[Any]) -> list[int]:
    if given.dtype.kind == "u":
        return [int(given.max())] if given.size else []
    return [value for value in given.ravel().tolist() if isinstance(value, int)]


def as_items(values: Any) -> Column:
    """Items in one of the two forms that are hashed and named: 64-bit signed whole numbers, or strings."""
    try:
        column = as_column(values)
    except OverflowError:  # Python integers that Arrow has no type for
        column = np.array(values, dtype=object)
    return whole_numbers(column, "items") if isinstance(column, np.ndarray) else column


def as_weights(weights: Any, length: int) -> Ints | None:
    """The weights of `length` items as whole numbers of at least 0, or None if all are 1."""
    if weights is None:
        return None
    checked = whole_numbers(weights, "weights")
    if checked.shape != (length,):
        raise ValueError(f"weights: {length} expected, one an item, found shape {checked.shape}")
    if length and checked.min() < 0:
        raise ValueError(f"weights: {checked.min()} is negative; what was counted cannot be taken back")
    return checked


def total_of(weights: Ints | None, length: int) -> int:
    """The sum of the weights of `length` items, exact whatever it is."""
    if weights is None:
        return length
    if not length or float(weights.sum(dtype=np.float64)) < MOST / 2:
        return int(weights.sum())
    return sum(weights.tolist())


def check_total(name: str, total: int, most: int = MOST) -> None:
    """Refuses a sum that cannot be kept, before anything has changed."""
    if total > most:
        raise ValueError(f"{name}: the sum of all counts would be {total}; above {most} it cannot be kept")


def occurring(items: Any, weights: Any = None) -> Column:
    """The items that did occur, those whose weight is above 0: all that matters where duplicates do not."""
    column = as_items(items)
    checked = as_weights(weights, len(column))
    return column if checked is None else taken(column, np.flatnonzero(checked))


def occurring_hashes(hashes: Any, weights: Any = None) -> Hashes:
    """The same for items that are given by their hashes."""
    given = as_hashes(hashes)
    checked = as_weights(weights, len(given))
    return given if checked is None else given[np.flatnonzero(checked)]


def hash_chunks(column: Column) -> Iterator[tuple[int, Hashes]]:
    """The hashes of a column, chunk by chunk, each with the position it begins at."""
    for start in range(0, len(column), CHUNK):
        yield start, hash_items(column[start : start + CHUNK], SPARK_SEED)


def taken(column: Column, positions: NDArray[np.int64]) -> Column:
    """The items at these positions."""
    return column[positions] if isinstance(column, np.ndarray) else column.take(pa.array(positions))


def joined(*columns: Column) -> Column:
    """One column after the other; strings and whole numbers do not mix."""
    filled = [column for column in columns if len(column)]
    if len(filled) < 2:
        return filled[0] if filled else columns[0]
    numbers = [column for column in filled if isinstance(column, np.ndarray)]
    if len(numbers) == len(filled):
        return np.concatenate([column.astype(np.int64, copy=False) for column in numbers])
    if numbers:
        raise ValueError("items: a synopsis names strings or whole numbers; it cannot hold both")
    return pa.concat_arrays([pa.array(column).cast(pa.large_string()) for column in filled])


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
            return cls(numbers=whole_numbers(column, "items"))
        return cls(names=column.cast(pa.large_string()).to_pylist())

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
