"""A tally in an image: whether it is whole, then names, their numbers, and names that were dropped."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, NamedTuple

from msgspec import Raw
from msgspec.msgpack import Decoder, Ext

from monitoring_lib.errors import CodecError
from monitoring_lib.names import Names
from monitoring_lib.tally_columns import TallyColumns, as_names, unpack_integers
from monitoring_lib.whole import BIG, big_of

TallyName = str | tuple[str, ...]
TallyNumber = int | float

_PARTS = Decoder(tuple[bool, Raw, Raw, Raw])
_NAMES = Decoder(list[str | tuple[str, ...]])
_NUMBERS = Decoder(list[int | float | Ext])


class TallyContent(NamedTuple):
    """What an image holds: as columns where there are many names, else as a dict with the names that changed."""

    whole: bool
    columns: TallyColumns | None
    entries: dict[TallyName, TallyNumber]
    touched: set[TallyName]


def pack_entries(
    entries: Mapping[TallyName, TallyNumber], touched: Set[TallyName], whole: bool, where: str
) -> list[Any]:
    """The parts of an image of a dict, sorted; `TallyColumns.pack` gives the same of columns."""
    names = sorted(entries if whole else touched & entries.keys())
    dropped = [] if whole else sorted(touched - entries.keys())
    numbers = [entries[name] for name in names]
    if not (_are_names(names) and _are_names(dropped) and set(map(type, numbers)) <= {int, float}):
        raise TypeError(f"{where}: a tally holds numbers by strings or tuples of strings")
    return [whole, names, numbers, dropped]


def unpack_tally(raw: Raw, where: str) -> TallyContent:
    try:
        whole, names, numbers, dropped = _PARTS.decode(raw)
        columns = _unpack_columns(names, numbers, dropped)
        if columns is not None:
            return TallyContent(whole, columns, {}, set())
        entries = dict(zip(_NAMES.decode(names), _numbers(numbers), strict=True))
        return TallyContent(whole, None, entries, entries.keys() | set(_NAMES.decode(dropped)))
    except (TypeError, ValueError, RecursionError) as error:
        raise CodecError(f"{where}: not a tally ({error})") from error


def _unpack_columns(names: Raw, numbers: Raw, dropped: Raw) -> TallyColumns | None:
    """None unless there are enough names, and none but 64-bit numbers."""
    found, values = Names.of_many(names), unpack_integers(numbers)
    if found is None or values is None or len(found) != len(values) or not found.increase():
        return None
    gone = Names.of_many(dropped) or as_names(_NAMES.decode(dropped))
    if gone is None or not gone.increase():
        return None
    columns = TallyColumns(found, values)
    columns.touch(gone)
    return columns


def _are_names(names: list[Any]) -> bool:
    kinds = set(map(type, names))
    return kinds <= {str} or (kinds <= {tuple} and all(type(part) is str for name in names for part in name))


def _numbers(raw: Raw) -> list[TallyNumber]:
    plain = _NUMBERS.decode(raw)
    if any(isinstance(number, Ext) and number.code != BIG for number in plain):
        raise ValueError("it holds what is not a number")
    return [big_of(number) if isinstance(number, Ext) else number for number in plain]
