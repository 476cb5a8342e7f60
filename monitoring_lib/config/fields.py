"""Kinds of values that several configuration files share, from their text to what the code works with."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator

from monitoring_lib import epochs, expressions

_LONGEST = epochs.parse_duration("36525d")


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"is not {what}")
    return value


def _duration(value: Any) -> int:
    duration = epochs.parse_duration(_text(value, "a duration; write a number and a unit: 10s, 5m, 1h, 1d"))
    if duration > _LONGEST:
        raise ValueError("is longer than a century; write a shorter one")
    return duration


def _duration_or_none_at_all(value: Any) -> int:
    return 0 if value in ("0s", 0) and value is not False else _duration(value)


def _window(value: Any) -> int | None:
    return None if value in ("growing", None) else _duration(value)


def _time(value: Any) -> int:
    return epochs.parse_time(_text(value, "a time; write 2001-01-31 or 2001-01-31T06:00Z"))


def _name(value: Any) -> str:
    name = _text(value, "a name; write letters, digits and -")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) or len(name) > 100:
        raise ValueError("is not a name; write at most 100 of a-z, 0-9 and - between them")
    return name


def _expression(value: Any) -> str:
    text = _text(value, "a column or an expression; write a text")
    expressions.parse(text)
    return text


def _option(value: Any) -> str:
    """Options of other programs are texts; a YAML true or 4 means what the same word in quotes would."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float | str):
        return str(value)
    raise ValueError("is not a text; write one in quotes")


Duration = Annotated[int, BeforeValidator(_duration)]
"""Microseconds, above 0, written as 10s, 5m, 1h30m, 1d."""
Patience = Annotated[int, BeforeValidator(_duration_or_none_at_all)]
"""Microseconds, 0s allowed."""
WindowLength = Annotated[int | None, BeforeValidator(_window)]
"""Microseconds, or None for a growing window."""
Time = Annotated[int, BeforeValidator(_time)]
"""Microseconds since 1970 UTC, written as ISO 8601."""
Name = Annotated[str, BeforeValidator(_name)]
"""Name of a source or a monitor: safe in paths and ids of our own making."""
ExpressionText = Annotated[str, BeforeValidator(_expression)]
"""A text that `expressions.parse` reads."""
Option = Annotated[str, BeforeValidator(_option)]
