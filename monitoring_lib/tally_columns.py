"""A tally's large form: names in a sorted column, 64-bit numbers in an array, worked on without an object a name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw
from numpy.typing import NDArray

from monitoring_lib.names import MANY, Names, array_head, array_length

RowIndexes = NDArray[np.intp]
_LEAST, _MOST = -(2**63), 2**63 - 1


class TallyColumns:
    """Rows of (name, number), sorted by name, each name once.

    A row that is not `here` was dropped or never set; its number is 0. A row is `touched` if it changed since
    the last mark.
    """

    __slots__ = ("here", "names", "numbers", "touched")

    def __init__(self, names: Names, numbers: NDArray[np.int64]) -> None:
        self.names = names
        self.numbers = numbers
        self.here = np.ones(len(numbers), np.bool_)
        self.touched = np.ones(len(numbers), np.bool_)

    def __len__(self) -> int:
        """Rows, those that were dropped included."""
        return len(self.numbers)

    def items(self) -> Iterator[tuple[str, int]]:
        return zip(self.present(), self.numbers[self.here].tolist(), strict=True)

    def present(self) -> Names:
        return self._names(self.here)

    def changed(self) -> Names:
        return self._names(self.touched)

    def row(self, name: Any) -> int:
        """The row of one name, -1 if there is none."""
        if not isinstance(name, str):
            return -1
        low, high, column = 0, len(self.numbers), self.names.column
        while low < high:
            middle = (low + high) // 2
            if column[middle].as_py() < name:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self.numbers) and column[low].as_py() == name else -1

    def find(self, names: Names) -> RowIndexes:
        """The row of each name, in any order; -1 where there is none."""
        if len(names) >= MANY and names.increase():
            places, known = self._located(names)
            return np.where(known, places, -1)
        found = pc.index_in(names.column, value_set=self.names.column)
        rows: RowIndexes = found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.intp)
        return rows

    def rows(self, names: Names) -> RowIndexes:
        """The row of each name, which come sorted; rows that lack are made, as if dropped long ago."""
        places, known = self._located(names)
        if known.all():
            return places
        fresh = places[~known]
        order = np.insert(np.arange(len(self)), fresh, len(self) + np.flatnonzero(~known))
        self.names = Names(pa.concat_arrays([self.names.column, names.column]).take(pa.array(order)))
        self.numbers = np.insert(self.numbers, fresh, 0)
        self.here, self.touched = np.insert(self.here, fresh, False), np.insert(self.touched, fresh, False)
        return places + np.cumsum(~known) - ~known

    def _located(self, names: Names) -> tuple[RowIndexes, NDArray[np.bool_]]:
        from monitoring_lib import _columnar

        places, known = np.empty(len(names), np.intp), np.empty(len(names), np.bool_)
        _columnar.locate(*self.names.buffers(), *names.buffers(), places, known)
        return places, known

    def numbers_at(self, rows: RowIndexes) -> NDArray[np.int64]:
        """0 where there is no row."""
        if not len(self):
            return np.zeros(len(rows), np.int64)
        return np.where(rows < 0, 0, self.numbers[rows])

    def put(self, rows: RowIndexes | int, numbers: NDArray[np.int64] | int) -> None:
        self.numbers[rows] = numbers
        self.here[rows] = self.touched[rows] = True

    def touch(self, names: Names) -> None:
        """These names, which come sorted, changed since the mark."""
        rows = self.rows(names)  # first: it may make the arrays anew
        self.touched[rows] = True

    def remove(self, rows: RowIndexes | int) -> None:
        """Rows that are not here stay as they are."""
        self.touched[rows] |= self.here[rows]
        self.numbers[rows], self.here[rows] = 0, False

    def sums(self, rows: RowIndexes, numbers: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """The rows' numbers with others added; None if one would not fit in 64 bits."""
        before = self.numbers[rows]
        after = before + numbers
        overflows = bool((((before ^ after) & (numbers ^ after)) < 0).any())
        return None if overflows else after

    def mark(self) -> None:
        if not self.here.all():
            self.names, self.numbers = self.present(), self.numbers[self.here]
            self.here = np.ones(len(self.numbers), np.bool_)
        self.touched = np.zeros(len(self.numbers), np.bool_)

    def pack(self, whole: bool, where: str) -> list[Any]:
        """Whether whole, names, numbers, dropped names."""
        told = self.here if whole else self.here & self.touched
        dropped = Names() if whole else self._names(self.touched & ~self.here)
        return [whole, self._names(told).pack(where), pack_integers(self.numbers[told]), dropped.pack(where)]

    def _names(self, chosen: NDArray[np.bool_]) -> Names:
        return self.names if chosen.all() else Names(self.names.column.filter(pa.array(chosen)))


def sorted_names(names: Iterable[Any]) -> tuple[Names, RowIndexes] | None:
    """The same names in order, and where each stood; None if one is there twice or is not a string."""
    found = names if isinstance(names, Names) else Names(names)
    if not isinstance(names, Names) and not set(map(type, found.tolist())) <= {str}:
        return None
    if found.increase():
        return found, np.arange(len(found))
    order = pc.sort_indices(found.column)
    found = Names(found.column.take(order))
    return (found, order.to_numpy().astype(np.intp)) if found.increase() else None


def as_names(names: Collection[Any]) -> Names | None:
    """None if one of them is no string."""
    if isinstance(names, Names):
        return names
    return Names(names) if set(map(type, names)) <= {str} else None


def as_integers(numbers: Any) -> NDArray[np.int64] | None:
    """An array of 64-bit numbers; None if some are doubles or do not fit."""
    if isinstance(numbers, np.ndarray):
        return numbers if numbers.dtype == np.int64 else None
    listed = list(numbers)
    if not set(map(type, listed)) <= {int}:
        return None
    try:
        return np.array(listed, np.int64)
    except OverflowError:
        return None


def fits(number: Any) -> bool:
    return type(number) is int and _LEAST <= number <= _MOST


def pack_integers(numbers: NDArray[np.int64]) -> Raw | list[int]:
    """What msgspec writes as an array of whole numbers."""
    if len(numbers) < MANY:
        listed: list[int] = numbers.tolist()
        return listed
    from monitoring_lib import _columnar

    out = np.empty(9 * len(numbers), np.uint8)
    return Raw(array_head(len(numbers)) + out[: _columnar.write_integers(numbers, out)].tobytes())


def unpack_integers(raw: Raw) -> NDArray[np.int64] | None:
    """None if there are few, or some do not fit in 64 bits."""
    content = np.frombuffer(raw, np.uint8)
    count, start = array_length(content)
    if count < MANY:
        return None
    from monitoring_lib import _columnar

    numbers = np.empty(count, np.int64)
    return numbers if _columnar.read_integers(content, start, numbers) == len(content) else None
