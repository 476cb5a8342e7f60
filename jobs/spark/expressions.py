"""Expressions and conditions of the configuration as Spark columns; the same as Arrow's evaluation gives."""

from __future__ import annotations

import operator
import string
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any

from monitoring_lib.expressions import (
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
    StartsWith,
    Text,
)
from monitoring_lib.expressions.evaluation import ValueKind
from monitoring_lib.expressions.numbers import DIGITS, SPELT, TURNED, bound

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

_OPERATIONS: dict[Comparison, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_DECIMAL = f"decimal({2 * DIGITS},{DIGITS})"


@dataclass(frozen=True, slots=True)
class SparkValues:
    """A column of texts, of truth values, or of numbers: its entries (`bigint`, or decimals) divided by `scale`."""

    column: SparkColumn
    kind: ValueKind = "text"
    scale: int = 1
    decimal: bool = False


Resolve = Callable[[str], SparkValues]


def to_column(expression: Expression, resolve: Callable[[str], SparkColumn]) -> SparkColumn:
    """The column that an expression says; `resolve` finds the columns it names."""
    from pyspark.sql import functions as F

    match expression:
        case ColumnName(name):
            return resolve(name)
        case Text(text):
            return F.lit(text)
        case Call(function, parts, length):
            texts = [to_column(part, resolve) for part in parts]
            if function == "concat":
                return F.concat(*texts)
            if function == "coalesce":
                return F.coalesce(*texts)
            if function == "prefix":
                return F.substring(texts[0], 1, length)
            if function == "length":
                return F.length(texts[0]).cast("string")
            upper, lower = string.ascii_uppercase, string.ascii_lowercase
            return F.translate(texts[0], *((upper, lower) if function == "lower" else (lower, upper)))


def to_condition(condition: Condition, resolve: Resolve) -> SparkColumn:
    """The boolean column that a condition says, null where it is unknown."""
    from pyspark.sql import functions as F

    match condition:
        case ColumnName(name):
            return resolve(name).column
        case Joined(by, parts):
            join = operator.and_ if by == "and" else operator.or_
            return reduce(join, (to_condition(part, resolve) for part in parts))
        case Not(of):
            return ~to_condition(of, resolve)
        case IsNull(of, negated):
            operand = _operand(of, resolve).column
            return operand.isNotNull() if negated else operand.isNull()
        case StartsWith(of, start):
            return F.startswith(_text(of, resolve), F.lit(start))
        case Among(of, choices, negated):
            among = reduce(operator.or_, (_compared("=", of, choice, resolve) for choice in choices))
            return ~among if negated else among
        case Compare(comparison, left, right):
            return _compared(comparison, left, right, resolve)


def _text(expression: Expression, resolve: Resolve) -> SparkColumn:
    return to_column(expression, lambda name: resolve(name).column)


def _operand(operand: Expression | Measured, resolve: Resolve) -> SparkValues:
    from pyspark.sql import functions as F

    match operand:
        case ColumnName(name):
            return resolve(name)
        case Measured("length", of):
            return SparkValues(F.length(_text(of, resolve)).cast("bigint"), "number")
        case Measured(_, of):
            trimmed = F.trim(_text(of, resolve))
            return SparkValues(F.when(trimmed.rlike(SPELT), trimmed.try_cast(_DECIMAL)), "number", decimal=True)
        case Text() | Call():
            return SparkValues(_text(operand, resolve))


def _compared(
    comparison: Comparison,
    left: Expression | Measured | Number,
    right: Expression | Measured | Number,
    resolve: Resolve,
) -> SparkColumn:
    from pyspark.sql import functions as F

    if isinstance(left, Number) and isinstance(right, Number):
        return F.lit(bool(_OPERATIONS[comparison](left.value, right.value)))
    if isinstance(left, Number):
        return _compared(TURNED[comparison], right, left, resolve)
    first = _operand(left, resolve)
    if isinstance(right, Number):
        return _against_number(comparison, first, Fraction(right.value))
    second = _operand(right, resolve)
    if first.kind != "number":
        return _as_column(_OPERATIONS[comparison](first.column, second.column))
    if first.decimal and not second.decimal and second.scale != 1:
        return _decimal_against_whole(comparison, first.column, second)
    if second.decimal and not first.decimal and first.scale != 1:
        return _decimal_against_whole(TURNED[comparison], second.column, first)
    return _as_column(_OPERATIONS[comparison](_times(first, second.scale), _times(second, first.scale)))


def _against_number(comparison: Comparison, values: SparkValues, number: Fraction) -> SparkColumn:
    from pyspark.sql import functions as F

    most, times = (10 ** (2 * DIGITS) - 1, 10**DIGITS) if values.decimal else (2**63 - 1, values.scale)
    found = bound(comparison, number * times, -most - (not values.decimal), most)
    if isinstance(found, bool):
        return F.when(values.column.isNotNull(), F.lit(found))
    limit = F.lit(_pointed(found[1])).cast(_DECIMAL) if values.decimal else F.lit(found[1])
    return _as_column(_OPERATIONS[found[0]](values.column, limit))


def _pointed(number: int) -> str:
    """The number with its last digits behind the point."""
    digits = f"{abs(number):0{DIGITS + 1}d}"
    return f"{'-' if number < 0 else ''}{digits[:-DIGITS]}.{digits[-DIGITS:]}"


def _times(values: SparkValues, factor: int) -> SparkColumn:
    """A side multiplied by the other's scale, so that both are compared as whole numbers; 38 digits hold it."""
    from pyspark.sql import functions as F

    if factor == 1 or values.decimal:
        return values.column
    return values.column.cast("decimal(19,0)") * F.lit(factor).cast("decimal(10,0)")


def _decimal_against_whole(comparison: Comparison, decimal: SparkColumn, whole: SparkValues) -> SparkColumn:
    """A decimal against n / scale: first the whole parts, then what is left of both, times the scale."""
    from pyspark.sql import functions as F

    units = F.floor(decimal).cast("bigint")
    rest = (decimal - units.cast(_DECIMAL)).cast(f"decimal({DIGITS + 1},{DIGITS})") * F.lit(whole.scale).cast(
        "decimal(10,0)"
    )
    left = F.pmod(whole.column, F.lit(whole.scale))
    other = F.floor((whole.column.cast("decimal(20,0)") - left) / F.lit(whole.scale).cast("decimal(10,0)"))
    less = (units < other) | ((units == other) & (rest < left))
    equal = (units == other) & (rest == left)
    found = {
        "=": equal, "!=": ~equal, "<": less, "<=": less | equal, ">": ~(less | equal), ">=": ~less,
    }  # fmt: skip
    return _as_column(found[comparison])


def _as_column(column: Any) -> SparkColumn:
    return column  # type: ignore[no-any-return]  # comparisons of columns are columns
