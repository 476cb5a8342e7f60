"""Random tables and conditions over them, and what a condition means said a second time, row by row in Python."""

from __future__ import annotations

import operator
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from monitoring_lib.expressions import (
    Among,
    Call,
    ColumnName,
    Compare,
    IsNull,
    Joined,
    Measured,
    Not,
    Number,
    StartsWith,
    Text,
    Values,
)

SCALES = {"value": 100, "cents": 60, "plain": 1}
TEXTS = ("item", "odd name")
COMPARISONS = {"=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
               ">=": operator.ge}  # fmt: skip

some_texts = st.one_of(
    st.sampled_from(["", "a", "A", "ab", "it's", '"', "`", "é", "ÄÖ", "😀", "😀a", "�", "a b", "\n", "\\", "%"]),
    st.sampled_from(["0", "-1", "+7", "5.", ".5", " 12 ", "1e3", "0.1", "10.50", "1" * 18, "1" * 19, "-0.000", "1\n"]),
    st.decimals(-(10**4), 10**4, places=3).map(str),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5),
)
some_numbers = st.one_of(st.integers(-1000, 1000), st.sampled_from([0, 2**63 - 1, -(2**63), 10**18]))
rows = st.lists(
    st.fixed_dictionaries(
        {name: st.none() | some_texts for name in TEXTS} | {name: st.none() | some_numbers for name in SCALES}
    ),
    min_size=1,
    max_size=12,
)

_leaves = st.sampled_from([ColumnName(name) for name in TEXTS]) | st.builds(Text, some_texts)
texts = st.recursive(
    _leaves,
    lambda inner: (
        st.builds(Call, st.sampled_from(["concat", "coalesce"]), st.lists(inner, min_size=1, max_size=3).map(tuple))
        | st.builds(Call, st.sampled_from(["lower", "upper"]), st.tuples(inner))
        | st.builds(Call, st.just("prefix"), st.tuples(inner), st.integers(1, 4))
        # By itself it would be a number beside a comparison.
        | st.builds(lambda part: Call("lower", (Call("length", (part,)),)), inner)
    ),
    max_leaves=3,
)
_literals = st.builds(
    Number,
    st.decimals(-20, 20, places=3)
    | st.sampled_from([Decimal(text) for text in ("0", "9223372036854775807", "-92233720368547758.08")])
    | st.integers(-(10**40), 10**40).map(Decimal)
    | st.decimals(-2, 2, places=30),
)
numbers = (
    st.sampled_from([ColumnName(name) for name in SCALES])
    | _literals
    | st.builds(Measured, st.sampled_from(["length", "number"]), texts)
)
_comparisons = st.sampled_from(list(COMPARISONS))
_plain = (
    st.builds(Compare, _comparisons, texts, texts)
    | st.builds(Compare, _comparisons, numbers, numbers)
    | st.builds(IsNull, texts | numbers.filter(lambda number: not isinstance(number, Number)), st.booleans())
    | st.builds(Among, texts, st.lists(st.builds(Text, some_texts), min_size=1, max_size=3).map(tuple), st.booleans())
    | st.builds(Among, numbers, st.lists(_literals, min_size=1, max_size=3).map(tuple), st.booleans())
    | st.builds(StartsWith, texts, some_texts)
)
conditions = st.recursive(
    _plain,
    lambda inner: (
        st.builds(Joined, st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3).map(tuple))
        | st.builds(Not, inner)
    ),
    max_leaves=5,
)


def columns_of(table: list[dict[str, Any]]) -> dict[str, Values]:
    kept = {name: Values(pa.array([row[name] for row in table], pa.string())) for name in TEXTS}
    return kept | {
        name: Values(pa.array([row[name] for row in table], pa.int64()), "number", scale)
        for name, scale in SCALES.items()
    }


def meant(condition: Any, row: dict[str, Any]) -> bool | None:
    """True, false or None for unknown."""
    match condition:
        case Joined(by, parts):
            found = [meant(part, row) for part in parts]
            decisive = by == "or"
            return decisive if decisive in found else None if None in found else not decisive
        case Not(of):
            inner = meant(of, row)
            return None if inner is None else not inner
        case IsNull(of, negated):
            return (_value(of, row) is None) != negated
        case StartsWith(of, start):
            text = _value(of, row)
            return None if text is None else text.startswith(start)
        case Among(of, choices, negated):
            value = _value(of, row)
            return None if value is None else (value in [_value(choice, row) for choice in choices]) != negated
        case Compare(comparison, left, right):
            one, other = _value(left, row), _value(right, row)
            return None if one is None or other is None else COMPARISONS[comparison](one, other)
    raise AssertionError(condition)


def _value(operand: Any, row: dict[str, Any]) -> Any:
    match operand:
        case ColumnName(name):
            value = row[name]
            return Fraction(value, SCALES[name]) if name in SCALES and value is not None else value
        case Text(text):
            return text
        case Number(value):
            return Fraction(value)
        case Measured("length", of):
            text = _value(of, row)
            return None if text is None else Fraction(len(text))
        case Measured("number", of):
            text = _value(of, row)
            spelt = None if text is None else re.fullmatch(r"[+-]?([0-9]*)\.?([0-9]*)", text.strip(" "))
            if not spelt or not spelt[1] + spelt[2] or max(len(spelt[1]), len(spelt[2])) > 18:
                return None
            return Fraction(text.strip(" "))
        case Call(function, parts, length):
            found = [_value(part, row) for part in parts]
            if function == "coalesce":
                return next((text for text in found if text is not None), None)
            if None in found:
                return None
            if function == "concat":
                return "".join(found)
            if function == "length":
                return str(len(found[0]))
            if function == "prefix":
                return found[0][:length]
            ascii_only = str.lower if function == "lower" else str.upper
            return "".join(ascii_only(one) if one.isascii() else one for one in found[0])
    raise AssertionError(operand)
