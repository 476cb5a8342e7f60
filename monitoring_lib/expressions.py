"""The small language of `columns` and `item`: which text a row gives.

A column name, ``'a text'``, ``concat(a, b, ...)``, ``lower(x)``, ``upper(x)``, ``prefix(x, n)`` and
``coalesce(x, ...)``. A text that holds none of ``( ) , ' ``` ` ``` is a column name as it stands; inside an
expression, a name with other characters than letters, digits and _ stands in backquotes. Quotes and
backquotes are doubled where they are meant.

Every engine must give the same text, so the functions are chosen to leave nothing to it: `lower` and `upper`
turn A to Z only, `prefix` counts code points, `concat` of a missing part is missing, `coalesce` is its first
part that is there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from monitoring_lib.suggest import nearest

FUNCTIONS = ("coalesce", "concat", "lower", "prefix", "upper")
LONGEST_TEXT = 2_000
DEEPEST_NESTING = 20

_TOKEN = re.compile(
    r"\s*(?:(?P<name>[^\W\d]\w*)|`(?P<odd>(?:[^`]|``)+)`|'(?P<text>(?:[^']|'')*)'|(?P<number>\d+)|(?P<mark>[(),]))"
)


@dataclass(frozen=True, slots=True)
class Column:
    """The text of a column."""

    name: str

    @property
    def columns(self) -> frozenset[str]:
        return frozenset((self.name,))

    def __str__(self) -> str:
        if re.fullmatch(r"[^\W\d]\w*", self.name):
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
    """A function of other expressions; `length` is the number of `prefix`."""

    function: str
    parts: tuple[Expression, ...]
    length: int = 0

    @property
    def columns(self) -> frozenset[str]:
        return frozenset().union(*(part.columns for part in self.parts))

    def __str__(self) -> str:
        numbers = [str(self.length)] if self.function == "prefix" else []
        return f"{self.function}({', '.join([*map(str, self.parts), *numbers])})"


Expression = Column | Text | Call


@lru_cache(maxsize=1_000)
def parse(text: str) -> Expression:
    """The expression that a text says; ValueError names the position of what is wrong."""
    if not text.strip():
        raise ValueError("an expression cannot be empty; name a column")
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"an expression of {len(text)} characters; {LONGEST_TEXT} are allowed")
    if not any(mark in text for mark in "(),'`"):
        return Column(text.strip())
    parser = _Parser(text)
    expression = parser.expression(0)
    parser.end()
    return expression


def evaluate(expression: Expression, columns: Mapping[str, pa.Array], rows: int) -> pa.Array:
    """The texts of `rows` rows, as a string array; `columns` holds a string array for every column named."""
    match expression:
        case Column(name):
            return columns[name]
        case Text(text):
            return pa.repeat(pa.scalar(text, pa.string()), rows)
        case Call(function, parts, length):
            texts = [evaluate(part, columns, rows) for part in parts]
            return _apply(function, texts, length)


def _apply(function: str, texts: list[pa.Array], length: int) -> pa.Array:
    if function == "concat":
        return pc.binary_join_element_wise(*texts, pa.scalar("", pa.string()), null_handling="emit_null")
    if function == "coalesce":
        return pc.coalesce(*texts)
    if function == "prefix":
        return pc.utf8_slice_codeunits(texts[0], 0, length)
    return pc.ascii_lower(texts[0]) if function == "lower" else pc.ascii_upper(texts[0])


class _Parser:
    """Reads one expression from left to right. Positions in messages count from 1."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._token: re.Match[str] | None = None
        self._advance()

    def expression(self, depth: int) -> Expression:
        if depth > DEEPEST_NESTING:
            raise self._fault(f"calls are nested deeper than {DEEPEST_NESTING}")
        token = self._take("a column, a 'text' or a function")
        if token["odd"] is not None:
            return Column(token["odd"].replace("``", "`"))
        if token["text"] is not None:
            return Text(token["text"].replace("''", "'"))
        if token["name"] is None:
            raise self._fault(f"found {token[0].strip()!r} where a column, a 'text' or a function should be", token)
        if not self._next_is("("):
            return Column(token["name"])
        return self._call(token, depth)

    def end(self) -> None:
        if self._token is not None:
            raise self._fault(f"found {self._token[0].strip()!r} where the expression should end", self._token)

    def _call(self, name: re.Match[str], depth: int) -> Call:
        function = name["name"]
        if function not in FUNCTIONS:
            raise self._fault(f"unknown function {function!r}{nearest(function, FUNCTIONS)}", name)
        self._mark("(")
        parts = [self.expression(depth + 1)]
        length = 0
        if function == "prefix":
            self._mark(",")
            length = self._number()
        elif function in ("concat", "coalesce"):
            while self._next_is(","):
                self._mark(",")
                parts.append(self.expression(depth + 1))
        self._mark(")", of=function)
        return Call(function, tuple(parts), length)

    def _number(self) -> int:
        token = self._take("how many characters the prefix has")
        if token["number"] is None or not 0 < int(token["number"][:9]) < 1_000_000:
            raise self._fault("prefix needs a number of characters, from 1 to 999999", token)
        return int(token["number"])

    def _mark(self, mark: str, of: str = "") -> None:
        where = f"{mark!r}" + (f" to end {of}(...)" if of else "")
        token = self._take(where)
        if token["mark"] != mark:
            raise self._fault(f"found {token[0].strip()!r} where {where} should be", token)

    def _next_is(self, mark: str) -> bool:
        return self._token is not None and self._token["mark"] == mark

    def _take(self, wanted: str) -> re.Match[str]:
        token = self._token
        if token is None:
            raise self._fault(f"the expression ends where {wanted} should be")
        self._advance()
        return token

    def _advance(self) -> None:
        if not self._text[self._at :].strip():
            self._token = None
            return
        self._token = _TOKEN.match(self._text, self._at)
        if self._token is None:
            rest = self._text[self._at :].lstrip()
            self._at = len(self._text) - len(rest)
            if rest[0] in "'`":
                raise self._fault(f"{rest[0]} is opened and never closed")
            raise self._fault(f"{rest[0]!r} is not understood; a name with other characters stands in backquotes")
        self._at = self._token.end()

    def _fault(self, what: str, token: re.Match[str] | None = None) -> ValueError:
        at = self._at if token is None else token.end() - len(token[0].lstrip())
        return ValueError(f"position {at + 1} of {self._text[:80]!r}: {what}")
