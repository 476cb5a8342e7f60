"""Expressions and conditions over columns of Arrow."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from math import isinf, isnan
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from monitoring_lib.expressions.nodes import (
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
from monitoring_lib.expressions.numbers import DIGITS, SPELT, TURNED, bound

ValueKind = Literal["text", "number", "truth"]

_OPERATIONS: dict[Comparison, tuple[Callable[..., Any], Callable[[Any, Any], bool]]] = {
    "=": (pc.equal, operator.eq), "!=": (pc.not_equal, operator.ne), "<": (pc.less, operator.lt),
    "<=": (pc.less_equal, operator.le), ">": (pc.greater, operator.gt), ">=": (pc.greater_equal, operator.ge),
}  # fmt: skip
_DECIMAL = pa.decimal128(2 * DIGITS, DIGITS)
_WHOLE = pa.decimal128(19, 0)

ExactNumber = Fraction | float | None


@dataclass(frozen=True, slots=True)
class Values:
    """A column: texts, truth values, or numbers, each the entry of the array divided by `scale`.

    Numbers are whole ones of 64 bits, decimals of at most 18 digits on either side of the point, or doubles.
    """

    array: pa.Array
    kind: ValueKind = "text"
    scale: int = 1


def evaluate(expression: Expression, columns: Mapping[str, pa.Array], rows: int) -> pa.Array:
    """The texts of `rows` rows, as a string array; `columns` holds a string array for every column named."""
    match expression:
        case ColumnName(name):
            return columns[name]
        case Text(text):
            return pa.repeat(pa.scalar(text, pa.string()), rows)
        case Call(function, parts, length):
            return _apply(function, [evaluate(part, columns, rows) for part in parts], length)


def holds(condition: Condition, columns: Mapping[str, Values], rows: int) -> pa.Array:
    """Whether the condition is true of each row: a boolean array, null where it is unknown."""
    match condition:
        case ColumnName(name):
            return columns[name].array
        case Joined(by, parts):
            join = pc.and_kleene if by == "and" else pc.or_kleene
            return reduce(join, (holds(part, columns, rows) for part in parts))
        case Not(of):
            return pc.invert(holds(of, columns, rows))
        case IsNull(of, negated):
            there = _operand(of, columns, rows).array.is_valid()
            return there if negated else pc.invert(there)
        case StartsWith(of, start):
            return pc.starts_with(_texts(of, columns, rows), start)
        case Among(of, choices, negated):
            equal: Any = [_compared("=", of, choice, columns, rows) for choice in choices]
            among = reduce(pc.or_kleene, equal)
            return pc.invert(among) if negated else among
        case Compare(comparison, left, right):
            return _compared(comparison, left, right, columns, rows)


def _apply(function: str, texts: list[pa.Array], length: int) -> pa.Array:
    if function == "concat":
        return pc.binary_join_element_wise(*texts, pa.scalar("", pa.string()), null_handling="emit_null")
    if function == "coalesce":
        return pc.coalesce(*texts)
    if function == "prefix":
        return pc.utf8_slice_codeunits(texts[0], 0, length)
    if function == "length":
        return pc.utf8_length(texts[0]).cast(pa.string())
    return pc.ascii_lower(texts[0]) if function == "lower" else pc.ascii_upper(texts[0])


def _texts(expression: Expression, columns: Mapping[str, Values], rows: int) -> pa.Array:
    return evaluate(expression, {name: columns[name].array for name in expression.columns}, rows)


def _operand(operand: Expression | Measured, columns: Mapping[str, Values], rows: int) -> Values:
    match operand:
        case ColumnName(name):
            return columns[name]
        case Measured("length", of):
            return Values(pc.utf8_length(_texts(of, columns, rows)).cast(pa.int64()), "number")
        case Measured(_, of):
            trimmed = pc.utf8_trim(_texts(of, columns, rows), " ")
            spelt = pc.if_else(pc.match_substring_regex(trimmed, SPELT), trimmed, None)
            return Values(spelt.cast(_DECIMAL), "number")
        case Text() | Call():
            return Values(_texts(operand, columns, rows))


def _compared(
    comparison: Comparison, left: Operand, right: Operand, columns: Mapping[str, Values], rows: int
) -> pa.Array:
    if isinstance(left, Number) and isinstance(right, Number):
        return pa.repeat(pa.scalar(_OPERATIONS[comparison][1](left.value, right.value)), rows)
    if isinstance(left, Number):
        return _compared(TURNED[comparison], right, left, columns, rows)
    first = _operand(left, columns, rows)
    if isinstance(right, Number):
        return _against_number(comparison, first, right.value)
    if isinstance(right, Text):
        return _OPERATIONS[comparison][0](first.array, pa.scalar(right.text, pa.string()))
    second = _operand(right, columns, rows)
    if first.kind == "number":
        return _numbers(comparison, first, second)
    return _OPERATIONS[comparison][0](first.array, second.array)


def _against_number(comparison: Comparison, values: Values, number: Decimal) -> pa.Array:
    array = values.array
    if pa.types.is_integer(array.type):
        found = bound(comparison, Fraction(number) * values.scale, -(2**63), 2**63 - 1)
        limit = None if isinstance(found, bool) else pa.scalar(found[1], pa.int64())
    elif pa.types.is_decimal(array.type) and values.scale == 1:
        most = 10 ** (2 * DIGITS)
        found = bound(comparison, Fraction(number) * 10**DIGITS, -most + 1, most - 1)
        limit = None if isinstance(found, bool) else pa.scalar(_point(found[1]), _DECIMAL)
    else:
        return _one_by_one(comparison, _exact(values), [Fraction(number)] * len(array))
    if isinstance(found, bool):
        return pc.if_else(array.is_valid(), found, None)
    return _OPERATIONS[found[0]][0](array, limit)


def _point(number: int) -> Decimal:
    """The number with its last digits behind the point, exactly."""
    return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -DIGITS))


def _numbers(comparison: Comparison, first: Values, second: Values) -> pa.Array:
    compare = _OPERATIONS[comparison][0]
    whole = [pa.types.is_integer(side.array.type) for side in (first, second)]
    if first.scale == second.scale and first.array.type == second.array.type:
        return compare(first.array, second.array)
    if all(whole):
        times = [pa.scalar(Decimal(side.scale), pa.decimal128(10, 0)) for side in (second, first)]
        return compare(
            pc.multiply(first.array.cast(_WHOLE), times[0]), pc.multiply(second.array.cast(_WHOLE), times[1])
        )
    return _one_by_one(comparison, _exact(first), _exact(second))


def _one_by_one(comparison: Comparison, first: Sequence[ExactNumber], second: Sequence[ExactNumber]) -> pa.Array:
    """Exact for all kinds of numbers, doubles included; for few rows."""
    compare = _OPERATIONS[comparison][1]
    pairs = zip(first, second, strict=True)
    found = [None if one is None or other is None else compare(one, other) for one, other in pairs]
    return pa.array(found, pa.bool_())


def _exact(values: Values) -> list[ExactNumber]:
    """Fractions; infinite numbers as they are, and one that is not a number as a missing one.

    A double stands for the shortest decimal that reads back as it.
    """
    found: list[ExactNumber] = []
    for number in values.array.to_pylist():
        if number is None or (isinstance(number, float) and isnan(number)):
            found.append(None)
        elif isinstance(number, float):
            found.append(number if isinf(number) else Fraction(repr(number)) / values.scale)
        else:
            found.append(Fraction(number) / values.scale)
    return found
