"""Columns of a source beyond one text each: further values, and wide rows whose columns are events."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from monitoring_lib.config.fields import Duration
from monitoring_lib.key_texts import ExpressionText
from monitoring_lib.methods import Keys

MOST_COLUMNS = 100_000
_RANGE = re.compile(r"(.*?)([0-9]{1,9})\.\.(.*?)([0-9]{1,9})")


class ValueColumn(Keys):
    """A further value of a row."""

    column: ExpressionText = Field(description="a column or an expression of texts that spell numbers")
    scale: int | None = Field(default=None, ge=1, le=10**9, description="its own; by default the source's")


def value_keys(value: Any) -> Any:
    """A column alone stands for one with the source's scale."""
    return {"column": value} if isinstance(value, str) else value


def _columns(value: Any) -> Any:
    if isinstance(value, str):
        return _range(value)
    if not isinstance(value, list) or not value or any(not isinstance(name, str) or not name for name in value):
        raise ValueError("is neither a range nor a list of columns; write c0..c287, or [c0, c1]")
    if len(set(value)) < len(value):
        raise ValueError("names a column twice; keep one of them")
    return value


def _range(text: str) -> list[str]:
    """`c0..c287`: the prefix with each whole number; `c000..c287` keeps the zeros."""
    found = _RANGE.fullmatch(text.strip())
    if found is None or found[1] != found[3] or int(found[2]) > int(found[4]):
        raise ValueError("is no range of columns; write the first and the last of them: c0..c287")
    first, last = int(found[2]), int(found[4])
    if last - first >= MOST_COLUMNS:
        raise ValueError(f"names {last - first + 1} columns, more than {MOST_COLUMNS}; check its ends")
    padded = found[2].startswith("0") and len(found[2]) > 1
    if padded and len(found[2]) != len(found[4]):
        raise ValueError("its numbers have different lengths; write both with the same number of digits, or no zeros")
    return [f"{found[1]}{number:0{len(found[2]) if padded else 1}d}" for number in range(first, last + 1)]


class Unpivot(Keys):
    """A row that holds many readings: each of these columns is an event, a step after the one before it."""

    columns: Annotated[list[str], BeforeValidator(_columns)] = Field(description="a range c0..c287, or a list")
    step: Duration | None = Field(default=None, description="time from a column to the next; by default the tick")
    name: str | None = Field(
        default=None, min_length=1, max_length=200, description="text column with the position, from 0"
    )


def unpivot_keys(value: Any) -> Any:
    """Columns alone stand for the default step."""
    return {"columns": value} if isinstance(value, str | list) else value
