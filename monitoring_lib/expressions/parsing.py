"""From a text to the expression or the condition that it says."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import Any, cast

from monitoring_lib.expressions.nodes import (
    KEYWORDS,
    Among,
    Call,
    ColumnName,
    Compare,
    Comparison,
    Condition,
    Expression,
    IsNull,
    Joined,
    Measured,
    Not,
    Number,
    Operand,
    StartsWith,
    Text,
)  # fmt: skip
from monitoring_lib.suggest import nearest

FUNCTIONS = ("coalesce", "concat", "length", "lower", "prefix", "upper")
MEASURES = ("length", "number")
STARTS_WITH = "starts_with"
LONGEST_TEXT = 2_000
DEEPEST_NESTING = 20

_TOKEN = re.compile(
    r"\s*(?:(?P<name>[^\W\d]\w*)|`(?P<odd>(?:[^`]|``)+)`|'(?P<text>(?:[^']|'')*)'"
    r"|(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?![\w.]))|(?P<symbol>[(),]|<=|>=|!=|[=<>]))"
)
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_OPERAND = "a column, a 'text', a number or a function"
_TEXT = "a column, a 'text' or a function"


@lru_cache(maxsize=1_000)
def parse(text: str) -> Expression:
    """The expression that a text says; ValueError names the position of what is wrong."""
    _refuse_odd_sizes(text, "an expression", "name a column")
    if not any(character in text for character in "(),'`"):
        return ColumnName(text.strip())
    parser = _Parser(text)
    expression = parser.text_expression(0)
    parser.end("expression")
    return expression


@lru_cache(maxsize=1_000)
def parse_condition(text: str) -> Condition:
    """The condition that a text says; ValueError names the position of what is wrong."""
    _refuse_odd_sizes(text, "a condition", "write one such as value > 10")
    parser = _Parser(text)
    condition = parser.condition(0)
    parser.end("condition")
    return condition


def _refuse_odd_sizes(text: str, what: str, remedy: str) -> None:
    if not text.strip():
        raise ValueError(f"{what} cannot be empty; {remedy}")
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"{what} of {len(text)} characters; {LONGEST_TEXT} are allowed")


class _Parser:
    """Reads from left to right. Positions in messages count from 1."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._token: re.Match[str] | None = None
        self._advance()

    def condition(self, depth: int) -> Condition:
        """Parts joined by `or`; each of them parts joined by `and`."""
        self._refuse_depth(depth)
        either = [self._all_of(depth)]
        while self._takes_word("or"):
            either.append(self._all_of(depth))
        return either[0] if len(either) == 1 else Joined("or", tuple(either))

    def _all_of(self, depth: int) -> Condition:
        parts = [self._negation(depth)]
        while self._takes_word("and"):
            parts.append(self._negation(depth))
        return parts[0] if len(parts) == 1 else Joined("and", tuple(parts))

    def _negation(self, depth: int) -> Condition:
        self._refuse_depth(depth)
        if self._takes_word("not"):
            return Not(self._negation(depth + 1))
        if self._next_is("("):
            self._symbol("(")
            inner = self.condition(depth + 1)
            self._symbol(")")
            return inner
        return self._predicate(depth)

    def _predicate(self, depth: int) -> Condition:
        token = self._token
        if token is not None and token["name"] == STARTS_WITH:
            self._advance()
            if self._next_is("("):
                return self._starts_with(depth)
            operand: Operand = ColumnName(STARTS_WITH)
        else:
            operand = self._operand(depth)
        if not isinstance(operand, Number) and self._takes_word("is"):
            negated = self._takes_word("not")
            if not self._takes_word("null"):
                raise self._unexpected("null")
            return IsNull(operand, negated)
        negated = self._takes_word("not")
        if self._takes_word("in"):
            return Among(operand, self._choices(), negated)
        if negated:
            raise self._unexpected("in")
        if self._token is not None and self._token["symbol"] in _COMPARISONS:
            comparison = cast(Comparison, self._take("")["symbol"])
            return Compare(comparison, operand, self._operand(depth))
        if isinstance(operand, ColumnName):
            return operand
        raise self._unexpected("a comparison such as = or <")

    def _starts_with(self, depth: int) -> StartsWith:
        self._symbol("(")
        of = self.text_expression(depth + 1)
        self._symbol(",")
        start = self._take("the 'text' to begin with")
        if start["text"] is None:
            raise self._fault(f"{STARTS_WITH} needs a 'text' to begin with", start)
        self._symbol(")", of=STARTS_WITH)
        return StartsWith(of, start["text"].replace("''", "'"))

    def _choices(self) -> Any:
        self._symbol("(")
        choices: list[Text | Number] = []
        while not choices or self._next_is(","):
            if choices:
                self._symbol(",")
            token = self._take("a 'text' or a number")
            if token["text"] is None and token["number"] is None:
                raise self._fault(f"found {token[0].strip()!r} where a 'text' or a number should be", token)
            choice = _literal(token)
            if choices and type(choice) is not type(choices[0]):
                raise self._fault("texts and numbers cannot stand in one list", token)
            choices.append(choice)
        self._symbol(")", of="in ")
        return tuple(choices)

    def _operand(self, depth: int) -> Operand:
        token = self._token
        if token is not None and token["number"] is not None:
            self._advance()
            return _literal(token)
        if token is not None and token["name"] is not None:
            if token["name"].lower() in KEYWORDS:
                raise self._fault(f"found {token['name']!r} where {_OPERAND} should be", token)
            if token["name"] in MEASURES:
                self._advance()
                if not self._next_is("("):
                    return ColumnName(token["name"])
                self._symbol("(")
                of = self.text_expression(depth + 1)
                self._symbol(")", of=token["name"])
                return Measured(cast(Any, token["name"]), of)
        return self.text_expression(depth, wanted=_OPERAND)

    def text_expression(self, depth: int, wanted: str = _TEXT) -> Expression:
        self._refuse_depth(depth)
        token = self._take(wanted)
        if token["odd"] is not None:
            return ColumnName(token["odd"].replace("``", "`"))
        if token["text"] is not None:
            return Text(token["text"].replace("''", "'"))
        if token["name"] is None:
            raise self._fault(f"found {token[0].strip()!r} where {wanted} should be", token)
        if not self._next_is("("):
            return ColumnName(token["name"])
        return self._call(token, depth, FUNCTIONS if wanted == _TEXT else (*FUNCTIONS, *MEASURES, STARTS_WITH))

    def end(self, what: str) -> None:
        if self._token is not None:
            raise self._fault(f"found {self._token[0].strip()!r} where the {what} should end", self._token)

    def _call(self, name: re.Match[str], depth: int, known: tuple[str, ...]) -> Call:
        function = name["name"]
        if function in (*MEASURES, STARTS_WITH) and function not in FUNCTIONS:
            what = "a condition" if function == STARTS_WITH else "a number"
            raise self._fault(f"{function}(...) gives {what} where a text should be", name)
        if function not in FUNCTIONS:
            raise self._fault(f"unknown function {function!r}{nearest(function, known)}", name)
        self._symbol("(")
        parts = [self.text_expression(depth + 1)]
        length = 0
        if function == "prefix":
            self._symbol(",")
            length = self._count()
        elif function in ("concat", "coalesce"):
            while self._next_is(","):
                self._symbol(",")
                parts.append(self.text_expression(depth + 1))
        self._symbol(")", of=function)
        return Call(function, tuple(parts), length)

    def _count(self) -> int:
        token = self._take("how many characters the prefix has")
        digits = token["number"] or ""
        if not digits.isdecimal() or not 0 < int(digits[:9]) < 1_000_000:
            raise self._fault("prefix needs a number of characters, from 1 to 999999", token)
        return int(digits)

    def _symbol(self, symbol: str, of: str = "") -> None:
        where = f"{symbol!r}" + (f" to end {of}(...)" if of else "")
        token = self._take(where)
        if token["symbol"] != symbol:
            raise self._fault(f"found {token[0].strip()!r} where {where} should be", token)

    def _next_is(self, symbol: str) -> bool:
        return self._token is not None and self._token["symbol"] == symbol

    def _takes_word(self, word: str) -> bool:
        found = self._token is not None and (self._token["name"] or "").lower() == word
        if found:
            self._advance()
        return found

    def _take(self, wanted: str) -> re.Match[str]:
        token = self._token
        if token is None:
            raise self._fault(f"the text ends where {wanted} should be")
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

    def _refuse_depth(self, depth: int) -> None:
        if depth > DEEPEST_NESTING:
            raise self._fault(f"calls are nested deeper than {DEEPEST_NESTING}")

    def _unexpected(self, wanted: str) -> ValueError:
        if self._token is None:
            return self._fault(f"the text ends where {wanted} should be")
        return self._fault(f"found {self._token[0].strip()!r} where {wanted} should be", self._token)

    def _fault(self, what: str, token: re.Match[str] | None = None) -> ValueError:
        at = self._at if token is None else token.end() - len(token[0].lstrip())
        return ValueError(f"position {at + 1} of {self._text[:80]!r}: {what}")


def _literal(token: re.Match[str]) -> Text | Number:
    if token["number"] is not None:
        return Number(Decimal(token["number"]))
    return Text(token["text"].replace("''", "'"))
