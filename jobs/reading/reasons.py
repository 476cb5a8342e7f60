"""Why rows are faulty: the first reason of each counts."""

from __future__ import annotations

from typing import Any

LONGEST_VALUE = 100


class Reasons:
    """Row of a batch to reason."""

    __slots__ = ("by_row",)

    def __init__(self) -> None:
        self.by_row: dict[int, str] = {}

    def add(self, row: int, reason: str) -> None:
        self.by_row.setdefault(row, reason)


def shown(value: Any) -> str:
    """A value of the data as a reason quotes it."""
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 4] + "...'"
