"""Whole numbers beyond 64 bits inside a body: msgpack has none so large, so they are an extension."""

from __future__ import annotations

from typing import Any

from msgspec.msgpack import Ext

BIG = 1
"""The type of extension that such a number takes."""


def with_big(plain: Any) -> Any:
    """The same, with every whole number beyond 64 bits as an extension."""
    if isinstance(plain, list | tuple):
        return [with_big(item) for item in plain]
    if isinstance(plain, dict):
        if any(_is_big(key) for key in plain):
            raise TypeError("a whole number that is a key must fit in 64 bits")
        return {key: with_big(item) for key, item in plain.items()}
    if _is_big(plain):
        return Ext(BIG, plain.to_bytes(plain.bit_length() // 8 + 1, "little", signed=True))
    return plain


def _is_big(plain: Any) -> bool:
    return type(plain) is int and not -(2**63) <= plain < 2**64


def big_of(plain: Ext) -> int:
    return int.from_bytes(plain.data, "little", signed=True)
