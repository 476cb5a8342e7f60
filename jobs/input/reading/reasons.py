"""Why rows are faulty: the first reason of each counts."""

from __future__ import annotations

from typing import Any, NamedTuple

LONGEST_VALUE = 100


class Reason(NamedTuple):
    """A sentence about one row, its kind (the same for all rows with this fault), and the value that is at fault."""

    text: str
    kind: str
    value: str | None = None


class Reasons:
    """Row of a batch to reason."""

    __slots__ = ("by_row",)

    def __init__(self) -> None:
        self.by_row: dict[int, Reason] = {}

    def add(self, row: int, subject: str, predicate: str, value: str | None = None) -> None:
        """`subject predicate` is the kind; the value, as a reason quotes it, stands between them in the sentence."""
        kind = f"{subject} {predicate}"
        self.keep(row, Reason(kind if value is None else f"{subject} {value} {predicate}", kind, value))

    def keep(self, row: int, reason: Reason) -> None:
        self.by_row.setdefault(row, reason)


def quoted_value(value: Any) -> str:
    """A value of the data as a reason quotes it."""
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 4] + "...'"
