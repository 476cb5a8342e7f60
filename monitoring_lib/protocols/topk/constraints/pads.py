"""Names inside `constraints`: items, and pads that fill the set while fewer than k items are there.

A pad is an ordinary object of sum 0 at every site, which is never published. Items are any text, so those that
begin with a NUL get another one in front; pads begin with a single one.
"""

from __future__ import annotations

from collections.abc import Iterable

from monitoring_lib.names import Names

_NUL = "\0"


def key_of_item(item: str) -> str:
    return _NUL + item if item.startswith(_NUL) else item


def item_of_key(key: str) -> str:
    return key[1:] if key.startswith(_NUL) else key


def is_pad(key: str) -> bool:
    return key.startswith(_NUL) and not key.startswith(_NUL + _NUL)


def pads(count: int) -> list[str]:
    return [_NUL + str(number) for number in range(count)]


def items_of(keys: Iterable[str]) -> list[str]:
    """Without the pads, as keys."""
    return [key for key in keys if not is_pad(key)]


def keys_of_items(items: Names) -> Names:
    """Of sorted items, of which those that need a further NUL come first, behind the empty one."""
    if (len(items) > 1 and items[1].startswith(_NUL)) or (items and items[0].startswith(_NUL)):
        return Names(key_of_item(item) for item in items)
    return items
