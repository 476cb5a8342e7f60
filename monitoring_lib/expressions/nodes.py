"""What an expression is made of: texts, numbers and conditions. Written out, each reads back as the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

KEYWORDS = ("and", "in", "is", "not", "null", "or")
Comparison = Literal["=", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class ColumnName:
    """What a column holds: a text, a number, or in a condition a truth value."""

    name: str

    @property
    def columns(self) -> frozenset[str]:
        return frozenset((self.name,))

    def __str__(self) -> str:
        if re.fullmatch(r"[^\W\d]\w*", self.name) and self.name.lower() not in KEYWORDS:
            return self.name
        return "`" + self.name.replace("`", "``") + "`"


@dataclass(frozen=True, slots=True)
class Text:
    """The same text for every row."""

    text: str

    @property
    def columns(self) -> frozenset[str]:
        return frozenset()

    def __str__(self) -> str:
        return "'" + self.text.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class Call:
    """A function of texts that gives a text (that of `length` in digits); `length` here is the number of `prefix`."""

    function: str
    parts: tuple[Expression, ...]
    length: int = 0

    @property
    def columns(self) -> frozenset[str]:
        return _columns_of(self.parts)

    def __str__(self) -> str:
        numbers = [str(self.length)] if self.function == "prefix" else []
        return f"{self.function}({', '.join([*map(str, self.parts), *numbers])})"


Expression = ColumnName | Text | Call
"""Gives a text for each row."""


@dataclass(frozen=True, slots=True)
class Number:
    """The same number for every row, exactly as it was written."""

    value: Decimal

    @property
    def columns(self) -> frozenset[str]:
        return frozenset()

    def __str__(self) -> str:
        return f"{self.value:f}"


@dataclass(frozen=True, slots=True)
class Measured:
    """A number of a text: its `length` in code points, or the decimal `number` that it spells."""

    function: Literal["length", "number"]
    of: Expression

    @property
    def columns(self) -> frozenset[str]:
        return self.of.columns

    def __str__(self) -> str:
        return f"{self.function}({self.of})"


Operand = ColumnName | Text | Call | Number | Measured


@dataclass(frozen=True, slots=True)
class Compare:
    """Two texts by code point, or two numbers exactly; unknown where one of them is missing."""

    comparison: Comparison
    left: Operand
    right: Operand

    @property
    def columns(self) -> frozenset[str]:
        return self.left.columns | self.right.columns

    def __str__(self) -> str:
        return f"{self.left} {self.comparison} {self.right}"


@dataclass(frozen=True, slots=True)
class Joined:
    """Conditions that must all hold (`and`), or of which one must (`or`)."""

    by: Literal["and", "or"]
    parts: tuple[Condition, ...]

    @property
    def columns(self) -> frozenset[str]:
        return _columns_of(self.parts)

    def __str__(self) -> str:
        return f" {self.by} ".join(f"({part})" if isinstance(part, Joined) else str(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of a condition; unknown where that is."""

    of: Condition

    @property
    def columns(self) -> frozenset[str]:
        return self.of.columns

    def __str__(self) -> str:
        return f"not ({self.of})"


@dataclass(frozen=True, slots=True)
class IsNull:
    """Whether there is nothing; never unknown itself."""

    of: Expression | Measured
    negated: bool = False

    @property
    def columns(self) -> frozenset[str]:
        return self.of.columns

    def __str__(self) -> str:
        return f"{self.of} is {'not ' if self.negated else ''}null"


@dataclass(frozen=True, slots=True)
class Among:
    """Whether a text or a number is one of a list; unknown where it is missing."""

    of: Operand
    choices: tuple[Text, ...] | tuple[Number, ...]
    negated: bool = False

    @property
    def columns(self) -> frozenset[str]:
        return self.of.columns

    def __str__(self) -> str:
        return f"{self.of} {'not ' if self.negated else ''}in ({', '.join(map(str, self.choices))})"


@dataclass(frozen=True, slots=True)
class StartsWith:
    """Whether a text begins with another; unknown where it is missing."""

    of: Expression
    start: str

    @property
    def columns(self) -> frozenset[str]:
        return self.of.columns

    def __str__(self) -> str:
        return f"starts_with({self.of}, {Text(self.start)})"


Condition = ColumnName | Compare | Joined | Not | IsNull | Among | StartsWith
"""Is true, false or unknown for each row; a column stands for a truth value that it holds."""


def _columns_of(parts: Iterable[Expression | Condition]) -> frozenset[str]:
    return frozenset().union(*(part.columns for part in parts))
