"""A growing map of names to numbers that remembers what changed, so that an epoch stores only that."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, ValuesView
from typing import Any

from monitoring_lib.errors import CodecError

Name = str | tuple[str, ...]
Number = int | float


class Tally:
    """Names (a string, or several) to numbers; a name it does not hold counts as 0.

    `changes` is what happened since `mark`: with the tally of that moment it gives this one back.
    """

    __slots__ = ("_entries", "_touched", "forgotten")

    def __init__(self, entries: Iterable[tuple[Name, Number]] = ()) -> None:
        self._entries: dict[Name, Number] = dict(entries)
        self._touched: set[Name] = set()
        self.forgotten = True
        """Whether everything before the last mark is gone: then the changes are the whole."""

    def get(self, name: Name) -> Any:
        return self._entries.get(name, 0)

    def get_all(self, names: Iterable[Name]) -> list[Any]:
        """`get` for many."""
        get = self._entries.get
        return [get(name, 0) for name in names]

    def set(self, name: Name, number: Number) -> None:
        self._entries[name] = number
        self._touched.add(name)

    def set_all(self, names: list[Any], numbers: Iterable[Number]) -> None:
        """`set` for many: each name once."""
        self._entries.update(zip(names, numbers, strict=True))
        self._touched.update(names)

    def add(self, name: Name, number: Number) -> Any:
        """The new number of the name."""
        total = self._entries.get(name, 0) + number
        self._entries[name] = total
        self._touched.add(name)
        return total

    def add_all(self, names: Iterable[Name], numbers: Iterable[Number]) -> None:
        """`add` for many: each name once or several times."""
        entries = self._entries
        touched = list(names)
        for name, number in zip(touched, numbers, strict=True):
            entries[name] = entries.get(name, 0) + number
        self._touched.update(touched)

    def drop(self, name: Name) -> None:
        if self._entries.pop(name, None) is not None:
            self._touched.add(name)

    def drop_all(self, names: Iterable[Name]) -> None:
        """`drop` for many."""
        entries = self._entries
        self._touched.update([name for name in names if entries.pop(name, None) is not None])

    def clear(self) -> None:
        self._entries, self._touched, self.forgotten = {}, set(), True

    def keys(self) -> KeysView[Any]:
        return self._entries.keys()

    def items(self) -> ItemsView[Any, Any]:
        return self._entries.items()

    def values(self) -> ValuesView[Any]:
        return self._entries.values()

    def __contains__(self, name: Name) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and self._entries == other._entries

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"Tally({self._entries!r})"

    @property
    def changed(self) -> bool:
        return bool(self._touched) or self.forgotten

    def mark(self) -> None:
        """What is here now is stored: changes count from here."""
        self._touched, self.forgotten = set(), False

    def apply(self, change: Tally) -> None:
        """Takes in the changes of a later tally, as unpacked from its image."""
        if change.forgotten:
            self._entries = {}
        self._entries.update(change._entries)  # in the image's order: a set's changes with the process
        for name in change._touched - change._entries.keys():
            self._entries.pop(name, None)

    def pack(self, changes_only: bool) -> list[Any]:
        """Whether forgotten, names, numbers, dropped names; sorted: equal content gives equal bytes."""
        whole = self.forgotten or not changes_only
        names = sorted(self._entries if whole else self._touched & self._entries.keys())
        dropped = [] if whole else sorted(self._touched - self._entries.keys())
        return [whole, names, [self._entries[name] for name in names], dropped]

    @classmethod
    def unpack(cls, plain: Any, where: str) -> Tally:
        try:
            whole, names, numbers, dropped = plain
            tally = cls(zip(map(_name, names), numbers, strict=True))
            tally.forgotten = whole
            tally._touched = tally._entries.keys() | set(map(_name, dropped))
        except (TypeError, ValueError) as error:
            raise CodecError(f"{where}: not a tally ({error})") from error
        if type(whole) is not bool or not all(type(number) in (int, float) for number in numbers):
            raise CodecError(f"{where}: not a tally of numbers")
        return tally


def _name(plain: Any) -> Name:
    if type(plain) is str:
        return plain
    if type(plain) is list and all(type(part) is str for part in plain):
        return tuple(plain)
    raise TypeError(f"a name cannot be {type(plain).__name__}")
