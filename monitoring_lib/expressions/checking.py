"""Whether an expression fits the columns that there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from monitoring_lib.expressions.evaluation import ValueKind
from monitoring_lib.expressions.nodes import (
    Among,
    Call,
    ColumnName,
    Compare,
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

Faults = Iterator[tuple[str, str]]
"""What is wrong, and what to do."""
_KINDS: dict[ValueKind, str] = {"text": "a text", "number": "a number", "truth": "a truth value"}


def faults_of(said: Expression | Condition, kinds: Mapping[str, ValueKind], condition: bool = False) -> Faults:
    """What is wrong with an expression of texts, or with a condition, over columns of these kinds."""
    if not condition:
        yield from _text_faults(said, kinds)  # type: ignore[arg-type]
        return
    match said:
        case ColumnName(name):
            yield from _column_faults(name, "truth", kinds)
        case Joined(_, parts):
            for part in parts:
                yield from faults_of(part, kinds, condition=True)
        case Not(of):
            yield from faults_of(of, kinds, condition=True)
        case IsNull(of):
            yield from _operand_faults(of, None, kinds)
        case StartsWith(of):
            yield from _text_faults(of, kinds)
        case Among(of, choices):
            yield from _operand_faults(of, "text" if isinstance(choices[0], Text) else "number", kinds)
        case Compare(comparison, left, right):
            yield from _compare_faults(comparison, left, right, kinds)


def numbers_in(condition: Condition) -> frozenset[str]:
    """The columns that must hold numbers, because they are compared with one."""
    match condition:
        case Joined(_, parts):
            return frozenset().union(*map(numbers_in, parts))
        case Not(of):
            return numbers_in(of)
        case Among(ColumnName(name), choices) if isinstance(choices[0], Number):
            return frozenset((name,))
        case Compare(_, left, right):
            sides = ((left, right), (right, left))
            return frozenset(
                side.name
                for side, other in sides
                if isinstance(side, ColumnName) and isinstance(other, Number | Measured)
            )
    return frozenset()


def _compare_faults(comparison: str, left: Operand, right: Operand, kinds: Mapping[str, ValueKind]) -> Faults:
    one, other = _kind_of(left, kinds), _kind_of(right, kinds)
    if one is not None and other is not None and one != other:
        yield f"{left} {comparison} {right} compares {_KINDS[one]} with {_KINDS[other]}", _conversion(left, right, one)
    else:
        yield from _operand_faults(left, None, kinds)
        yield from _operand_faults(right, None, kinds)


def _conversion(left: Operand, right: Operand, one: ValueKind) -> str:
    text, number = (left, right) if one == "text" else (right, left)
    if isinstance(text, Text):
        return "compare texts with texts and numbers with numbers; a number stands without quotes"
    if isinstance(number, Number):
        return f"write number({text}), or '{number}' in quotes"
    return f"write number({text})"


def _kind_of(operand: Operand, kinds: Mapping[str, ValueKind]) -> ValueKind | None:
    """None where a column is not known."""
    match operand:
        case ColumnName(name):
            return kinds.get(name)
        case Number() | Measured():
            return "number"
    return "text"


def _operand_faults(operand: Operand, wanted: ValueKind | None, kinds: Mapping[str, ValueKind]) -> Faults:
    match operand:
        case ColumnName(name):
            yield from _column_faults(name, wanted, kinds)
        case Measured(_, of):
            yield from _text_faults(of, kinds)
        case Call() | Text():
            yield from _text_faults(operand, kinds)
    if wanted is not None and not isinstance(operand, ColumnName) and _kind_of(operand, kinds) != wanted:
        yield f"{operand} is not {_KINDS[wanted]}", "compare texts with texts and numbers with numbers"


def _text_faults(expression: Expression, kinds: Mapping[str, ValueKind]) -> Faults:
    for name in sorted(expression.columns):
        yield from _column_faults(name, "text", kinds)


def _column_faults(name: str, wanted: ValueKind | None, kinds: Mapping[str, ValueKind]) -> Faults:
    fitting = [known for known, kind in kinds.items() if wanted in (None, kind)]
    if name not in kinds:
        yield f"there is no column {name!r}", nearest(name, fitting).removeprefix("; ")
    elif wanted is not None and kinds[name] != wanted:
        yield (
            f"column {name!r} holds {_KINDS[kinds[name]]}, not {_KINDS[wanted]}",
            (nearest(name, fitting).removeprefix("; ") or f"name a column that holds {_KINDS[wanted]}"),
        )
