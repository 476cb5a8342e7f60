"""A growing map of names to numbers that remembers what changed, so that an epoch stores only that."""

from __future__ import annotations

from collections.abc import Collection, ItemsView, Iterable, Iterator, KeysView
from typing import Any

import numpy as np
from msgspec import Raw
from numpy.typing import NDArray

from monitoring_lib.names import MANY, Names
from monitoring_lib.tally_columns import TallyColumns, as_integers, as_names, fits, sorted_names
from monitoring_lib.tally_images import TallyName, TallyNumber, pack_entries, unpack_tally

_SEARCH, _PASSES = 20, 8
"""What making a dict of the columns costs: as much as a search for one name in 20, or 8 passes over them."""
_HALF = 2
"""Names that come at once, at least one for so many that are held, are worth columns, and renew their patience."""
_FEW = 16
"""A pass over the columns is worth its while for at least one name in so many."""


class Tally:
    """Names (a string, or several) to numbers; a name it does not hold counts as 0.

    `pack(changes_only=True)` is what happened since `mark`: with the tally of that moment it gives this one back.

    A tally is held as a dict, or in columns once many names came at once from an image or a `Names`. Both hold the
    same content and give the same bytes. Work on few names is charged to the columns, until a dict would have
    been cheaper; then they become one.
    """

    __slots__ = ("_columns", "_entries", "_patience", "_touched", "forgotten")

    def __init__(self, entries: Iterable[tuple[TallyName, TallyNumber]] = ()) -> None:
        self._entries: dict[TallyName, TallyNumber] = dict(entries)
        self._touched: set[TallyName] = set()
        self._columns: TallyColumns | None = None  # where there are columns, entries and touched are empty
        self._patience = 0
        self.forgotten = True
        """Whether everything before the last mark is gone: then the changes are the whole."""

    def get(self, name: TallyName) -> Any:
        if self._columns is not None and (columns := self._for_few(_SEARCH)) is not None:
            row = columns.row(name)
            return int(columns.numbers[row]) if row >= 0 else 0
        return self._entries.get(name, 0)

    def get_all(self, names: Collection[TallyName]) -> list[Any]:
        """`get` for many."""
        if self._columns is not None:
            columns, wanted = self._for_many(len(names)), as_names(names)
            if columns is not None and wanted is not None:
                found: list[int] = columns.numbers_at(columns.find(wanted)).tolist()
                return found
            self._to_entries()
        get = self._entries.get
        return [get(name, 0) for name in names]

    def beyond(self, names: Collection[Any], limit: TallyNumber) -> list[Any]:
        """Those of the names whose number is further than `limit` from 0, in their order."""
        columns = self._for_many(len(names)) if self._columns is not None else None
        if columns is not None and isinstance(names, Names) and fits(limit):
            numbers = columns.numbers_at(columns.find(names))
            return names.chosen((numbers > limit) | (numbers < -limit))
        pairs = zip(names, self.get_all(names), strict=True)
        return [name for name, number in pairs if number > limit or number < -limit]

    def set(self, name: TallyName, number: TallyNumber) -> None:
        """A number that stands there already is no change."""
        if self._columns is not None and self._put_one(name, number, touching=False):
            return
        if self._entries.get(name) != number:
            self._entries[name] = number
            self._touched.add(name)

    def set_all(self, names: Collection[Any], numbers: Iterable[TallyNumber]) -> None:
        """`set` for many: each name once, and all of them count as changed."""
        if self._columns is None or not self._put_many(names, numbers := list(numbers), adding=False):
            self._entries.update(zip(names, numbers, strict=True))
            self._touched.update(names)

    def add(self, name: TallyName, number: TallyNumber) -> Any:
        """The new number of the name."""
        total = self.get(name) + number
        if self._columns is None or not self._put_one(name, total):
            self._entries[name] = total
            self._touched.add(name)
        return total

    def add_all(self, names: Collection[TallyName], numbers: Iterable[TallyNumber] | NDArray[np.int64]) -> None:
        """`add` for many: each name once or several times. Sorted `Names` with an array are taken in as columns."""
        if isinstance(names, Names) and len(names) >= MANY and len(names) * _HALF >= len(self._entries):
            self._to_columns()
        if self._columns is not None and self._put_many(names, numbers, adding=True):
            return
        entries = self._entries
        for name, number in zip(names, _listed(numbers), strict=True):
            entries[name] = entries.get(name, 0) + number
        self._touched.update(names)

    def drop(self, name: TallyName) -> None:
        if self._columns is not None and (columns := self._for_few(_SEARCH)) is not None:
            row = columns.row(name)
            if row >= 0:
                columns.remove(row)
        elif self._entries.pop(name, None) is not None:
            self._touched.add(name)

    def drop_all(self, names: Iterable[TallyName]) -> None:
        """`drop` for many."""
        if self._columns is not None:
            listed = names if isinstance(names, Names) else list(names)
            columns, wanted = self._for_many(len(listed)), as_names(listed)
            if columns is not None and wanted is not None:
                rows = columns.find(wanted)
                columns.remove(rows[rows >= 0])
                return
            self._to_entries()
            names = listed
        entries = self._entries
        self._touched.update([name for name in names if entries.pop(name, None) is not None])

    def clear(self) -> None:
        self._entries, self._touched, self._columns, self.forgotten = {}, set(), None, True

    def keys(self) -> KeysView[Any]:
        self._to_entries()
        return self._entries.keys()

    def items(self) -> ItemsView[Any, Any]:
        self._to_entries()
        return self._entries.items()

    def values(self) -> Collection[Any]:
        if self._columns is not None:
            numbers: list[int] = self._columns.numbers[self._columns.here].tolist()
            return numbers
        return self._entries.values()

    def __contains__(self, name: TallyName) -> bool:
        if self._columns is not None and (columns := self._for_few(_SEARCH)) is not None:
            row = columns.row(name)
            return row >= 0 and bool(columns.here[row])
        return name in self._entries

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries if self._columns is None else self._columns.present())

    def __len__(self) -> int:
        return len(self._entries) if self._columns is None else int(self._columns.here.sum())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and self._plain() == other._plain()

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"Tally({self._plain()!r})"

    @property
    def changed(self) -> bool:
        return self.forgotten or bool(self._touched if self._columns is None else self._columns.touched.any())

    def mark(self) -> None:
        """What is here now is stored: changes count from here."""
        self._touched, self.forgotten = set(), False
        if self._columns is not None:
            self._columns.mark()

    def apply(self, change: Tally) -> None:
        """Takes in the changes of a later tally, as unpacked from its image; that one is not used afterwards."""
        if change.forgotten:
            self._entries, self._columns, self._patience = change._entries, change._columns, change._patience
            self._touched = change._touched & change._entries.keys()
        elif self._columns is not None and change._columns is not None:
            later = change._columns
            rows = self._columns.rows(later.names)
            self._columns.numbers[rows], self._columns.here[rows] = later.numbers, later.here
        else:
            change._to_entries()  # in the image's order: a set's changes with the process
            self.set_all(change._entries.keys(), change._entries.values())
            self.drop_all(sorted(change._touched - change._entries.keys()))

    def pack(self, changes_only: bool, where: str = "tally") -> list[Any]:
        """Whether forgotten, names, numbers, dropped names; sorted: equal content gives equal bytes."""
        whole = self.forgotten or not changes_only
        if self._columns is not None:
            return self._columns.pack(whole, where)
        return pack_entries(self._entries, self._touched, whole, where)

    @classmethod
    def unpack(cls, raw: Raw, where: str) -> Tally:
        tally = cls()
        tally.forgotten, tally._columns, tally._entries, tally._touched = unpack_tally(raw, where)
        tally._patience = 0 if tally._columns is None else len(tally._columns)
        return tally

    def _put_one(self, name: TallyName, number: TallyNumber, touching: bool = True) -> bool:
        """Sets one name in the columns; False if there are none any more, or they cannot hold it.

        Without `touching`, a number that stands there already is no change.
        """
        columns = self._for_few(_SEARCH)
        if columns is None:
            return False
        if not fits(number) or not isinstance(name, str):
            self._to_entries()
            return False
        row = columns.row(name)
        if row < 0:
            if self._for_few(len(columns) // _PASSES) is None:
                return False
            row = int(columns.rows(Names([name]))[0])
        if touching or not columns.here[row] or columns.numbers[row] != number:
            columns.put(row, int(number))
        return True

    def _put_many(self, names: Collection[Any], numbers: Any, adding: bool) -> bool:
        """Sets many names in the columns, or adds to them; False, and a dict, if that cannot be done there."""
        columns, wanted, values = self._for_many(len(names)), as_names(names), as_integers(numbers)
        found = None if wanted is None else sorted_names(wanted)
        if columns is not None and found is not None and values is not None and len(values) == len(names):
            rows, order = columns.rows(found[0]), found[1]
            totals = columns.sums(rows, values[order]) if adding else values[order]
            if totals is not None:
                columns.put(rows, totals)
                if len(names) * _HALF >= len(columns):
                    self._patience = len(columns)
                return True
        self._to_entries()
        return False

    def _for_few(self, cost: int) -> TallyColumns | None:
        """The columns, unless what was charged to them comes to more than a dict would have cost."""
        self._patience -= cost
        if self._patience < 0:
            self._to_entries()
        return self._columns

    def _for_many(self, names: int) -> TallyColumns | None:
        rows = 0 if self._columns is None else len(self._columns)
        return self._for_few(0 if names * _FEW >= rows else rows // _PASSES)

    def _to_entries(self) -> None:
        if self._columns is not None:
            self._entries, self._touched = dict(self._columns.items()), set(self._columns.changed())
            self._columns = None

    def _to_columns(self) -> None:
        """If all names are strings and all numbers have 64 bits."""
        names, touched, values = as_names(self._entries), as_names(self._touched), as_integers(self._entries.values())
        if self._columns is not None or names is None or touched is None or values is None:
            return
        (names, order), (touched, _) = sorted_names(names), sorted_names(touched)  # type: ignore[misc]  # none twice
        columns = TallyColumns(names, values[order])
        columns.touched[:] = False
        columns.touch(touched)
        self._columns, self._entries, self._touched, self._patience = columns, {}, set(), len(columns)

    def _plain(self) -> dict[Any, Any]:
        return self._entries if self._columns is None else dict(self._columns.items())


def _listed(numbers: Iterable[TallyNumber] | NDArray[np.int64]) -> Iterable[TallyNumber]:
    return numbers.tolist() if isinstance(numbers, np.ndarray) else numbers
