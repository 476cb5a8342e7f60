"""Which rows of a table are asked for: conditions on columns, as the engine's SQL and on rows in memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from monitoring_lib.epochs import to_datetime


@dataclass(frozen=True, slots=True)
class WholeNumber:
    """A whole number in a condition, where a plain one is a time."""

    value: int


ColumnComparison = Literal["=", ">=", "<", "<=", ">"]
RowCondition = tuple[str, ColumnComparison, str | int | WholeNumber] | tuple[str, Literal["in"], Sequence[str]]
"""A column, a comparison, and a value: a time in microseconds, a number, or an identifier of our own making."""

_OURS = re.compile(r"[A-Za-z0-9 _.:()*;,@/-]*")
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "=": pc.equal, ">=": pc.greater_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater,
}  # fmt: skip


def predicate(conditions: Iterable[RowCondition]) -> str | None:
    """The conditions as the engine's SQL. A value that could be a name out of data is refused."""
    parts = []
    for column, comparison, value in conditions:
        if comparison == "in":
            assert not isinstance(value, str | int | WholeNumber)
            parts.append(f"{column} in ({', '.join(map(_literal, value))})" if value else "false")
        elif isinstance(value, WholeNumber):
            parts.append(f"{column} {comparison} {value.value}")
        elif isinstance(value, int):
            parts.append(f"{column} {comparison} timestamp '{to_datetime(value):%Y-%m-%dT%H:%M:%S.%fZ}'")
        else:
            assert isinstance(value, str)
            parts.append(f"{column} {comparison} {_literal(value)}")
    return " and ".join(parts) or None


def _literal(text: str) -> str:
    if not _OURS.fullmatch(text):
        raise ValueError(f"{text!r} is no identifier of our own and cannot be part of a predicate")
    return f"'{text}'"


def meeting(rows: pa.Table, conditions: Iterable[RowCondition]) -> pa.Table:
    """The rows that meet all conditions; as in SQL, a null meets none."""
    met = [_met(rows[column], comparison, value) for column, comparison, value in conditions]
    return rows.filter(reduce(pc.and_, met)) if met else rows


def _met(cells: pa.ChunkedArray, comparison: str, value: Any) -> pa.ChunkedArray:
    if comparison == "in":
        return pc.is_in(cells, value_set=pa.array(value, pa.string()))
    plain = value.value if isinstance(value, WholeNumber) else value
    return _COMPARED[comparison](cells, pa.scalar(plain, cells.type))
