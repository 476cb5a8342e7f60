"""A column of names: a list of strings to those who read them, Arrow's layout to those who work on all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw
from msgspec.msgpack import Decoder, Encoder
from numpy.typing import NDArray

from monitoring_lib.errors import CodecError

MANY = 32_768
"""From so many values on, columns are worked on by compiled loops; for fewer, loading those would cost a process more
than Python's own lists and dicts do."""

_ENCODER = Encoder()
_STRINGS = Decoder(list[str])


class Names(Sequence[str]):
    """Strings in a given order. It never changes, so it can be shared.

    It holds a list, a column, or both: each is made from the other once somebody asks for it.
    """

    __slots__ = ("_column", "_list")

    def __init__(self, names: Iterable[str] | pa.Array = ()) -> None:
        self._column: pa.StringArray | None = None
        self._list: list[str] | None = None
        if isinstance(names, Names):
            self._column, self._list = names._column, names._list
        elif isinstance(names, pa.Array | pa.ChunkedArray):
            self._column = _as_strings(names)
        else:
            self._list = list(names)

    @property
    def column(self) -> pa.StringArray:
        if self._column is None:
            self._column = pa.array(self._list, pa.string())
        return self._column

    def tolist(self) -> list[str]:
        """Not to be changed."""
        if self._list is None:
            found: list[str] = self.column.to_pylist()
            self._list = found
        return self._list

    def buffers(self) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Offsets and characters."""
        _, offsets, data = self.column.buffers()
        start, count = self.column.offset, len(self.column)
        if offsets is None or count == 0:
            return np.zeros(1, np.int32), np.empty(0, np.uint8)
        characters = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
        return np.frombuffer(offsets, np.int32)[start : start + count + 1], characters

    def increase(self) -> bool:
        """Whether each name is larger than the one before."""
        if len(self) < MANY:
            names = self.tolist()
            return all(one < other for one, other in pairwise(names))
        from monitoring_lib import _columnar

        return bool(_columnar.increases(*self.buffers()))

    def chosen(self, which: NDArray[np.bool_]) -> list[str]:
        found: list[str] = self.column.filter(pa.array(which)).to_pylist()
        return found

    def among(self, others: Collection[str]) -> list[str]:
        """Those of these names that are also among the others, in this order."""
        if len(self) < MANY:
            return [name for name in self if name in others]
        return self.chosen(
            pc.is_in(self.column, value_set=pa.array(list(others), pa.string())).to_numpy(zero_copy_only=False)
        )

    def union(self, others: Names) -> Names:
        """These names, then the others that are not among them; each once."""
        if len(self) + len(others) < MANY:
            return Names(dict.fromkeys((*self, *others)))
        return Names(pc.unique(pa.concat_arrays([self.column, others.column])))

    def pack(self, where: str) -> Raw | list[str]:
        """What msgspec writes as an array of strings."""
        if self._column is None or len(self) < MANY:
            if not set(map(type, self.tolist())) <= {str}:
                raise TypeError(f"{where}: names must be strings")
            return self.tolist()
        from monitoring_lib import _columnar

        offsets, data = self.buffers()
        out = np.empty(5 * len(self) + int(offsets[-1] - offsets[0]), np.uint8)
        return Raw(array_head(len(self)) + out[: _columnar.write_strings(offsets, data, out)].tobytes())

    @classmethod
    def unpack(cls, raw: Raw, where: str) -> Names:
        try:
            return cls.of_many(raw) or cls(_STRINGS.decode(raw))
        except (ValueError, TypeError, RecursionError) as error:
            raise CodecError(f"{where}: not a list of names ({error})") from error

    @classmethod
    def of_many(cls, raw: Raw) -> Names | None:
        """None if there are few, or if not all are strings."""
        content = np.frombuffer(raw, np.uint8)
        count, start = array_length(content)
        if count < MANY:
            return None
        from monitoring_lib import _columnar

        offsets, data = np.empty(count + 1, np.int32), np.empty(len(content), np.uint8)
        if _columnar.read_strings(content, start, offsets, data) != len(content):
            return None
        column = pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(data[: offsets[-1]]))
        column.validate(full=True)
        return cls(column)

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> list[str]: ...

    def __getitem__(self, at: int | slice) -> str | list[str]:
        if self._list is None and isinstance(at, int):
            name: str = self.column[at].as_py()
            return name
        return self.tolist()[at]

    def __len__(self) -> int:
        return len(self._list) if self._list is not None else len(self.column)

    def __iter__(self) -> Iterator[str]:
        return iter(self.tolist())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Names):
            return self.tolist() == other.tolist()
        return self.tolist() == other if isinstance(other, list) else NotImplemented

    def __hash__(self) -> int:
        raise TypeError("names are compared by content; they are no key")

    def __repr__(self) -> str:
        return repr(self.tolist())


def array_head(count: int) -> bytes:
    """How msgpack begins an array."""
    if count < 16:
        return bytes((0x90 | count,))
    return b"\xdc" + count.to_bytes(2, "big") if count < 1 << 16 else b"\xdd" + count.to_bytes(4, "big")


def array_length(raw: NDArray[np.uint8]) -> tuple[int, int]:
    """How many values the array says it has, at most as many as bytes follow, and where they begin."""
    head = int(raw[0]) if len(raw) else 0
    width = {0xDC: 2, 0xDD: 4}.get(head, 0)
    count = int.from_bytes(raw[1 : 1 + width].tobytes(), "big") if width else 0
    return (count if count < len(raw) else 0), 1 + width


def _as_strings(column: Any) -> pa.StringArray:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    if column.null_count:
        raise ValueError(f"names: {column.null_count} of {len(column)} are missing")
    return column if column.type == pa.string() else column.cast(pa.string())
