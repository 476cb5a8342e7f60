"""Kinds of values that several configuration files share, from their text to what the code works with."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, PlainValidator

from monitoring_lib import epochs, expressions
from monitoring_lib.summaries import Measure

Severity = Literal["warning", "critical"]
"""Of what a person is told. A critical finding about a site sets the site aside."""

_LONGEST = epochs.parse_duration("36525d")


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"is not {what}")
    return value


def _within_a_century(value: Any, parse: Callable[[str], int]) -> int:
    duration = parse(_text(value, "a duration; write a number and a unit: 10s, 5m, 1h, 1d"))
    if duration > _LONGEST:
        raise ValueError("is longer than a century; write a shorter one")
    return duration


def _duration(value: Any) -> int:
    return _within_a_century(value, epochs.parse_duration)


def _duration_or_none_at_all(value: Any) -> int:
    return _within_a_century("0" if value == 0 and value is not False else value, epochs.parse_patience)


def _epochs(value: Any) -> int:
    """``30 epochs``, or the number alone."""
    found = re.fullmatch(r"([0-9]{1,9})(?: epochs?)?", str(value)) if type(value) in (str, int) else None
    if not found or not int(found[1]):
        raise ValueError("is no number of epochs; write one such as 30 epochs")
    return int(found[1])


def _window(value: Any) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"\d[\d_]*\s*(events|arrivals|items|rows)", value.strip()):
        raise ValueError(
            "counts arrivals, and which arrivals of all sites are the last ones is known to none of them; write a"
            " length of time: 10s, 5m, 1h, 1d"
        )
    return None if value in ("growing", None) else _duration(value)


def _time(value: Any) -> int:
    return epochs.parse_time(_text(value, "a time; write 2001-01-31 or 2001-01-31T06:00Z"))


def _begin(value: Any) -> str | int:
    return str(value) if value in ("first", "origin") else _time(value)


def _name(value: Any) -> str:
    name = _text(value, "a name; write letters, digits and -")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) or len(name) > 100:
        raise ValueError("is not a name; write at most 100 of a-z, 0-9 and - between them")
    return name


def _condition(value: Any) -> str:
    text = _text(value, "a condition; write one such as value > 10")
    expressions.parse_condition(text)
    return text


def _measure(value: Any) -> str:
    return str(Measure.parse(_text(value, "a measure; write count, or a reduction such as sum(value)")))


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
EpochCount = Annotated[int, BeforeValidator(_epochs)]
"""A number above 0, written as 30 epochs."""
WindowLength = Annotated[int | None, BeforeValidator(_window)]
"""Microseconds, or None for a growing window."""
Time = Annotated[int, BeforeValidator(_time)]
"""Microseconds since 1970 UTC, written as ISO 8601."""
Begin = Annotated[str | int, PlainValidator(_begin)]
"""Where a chain begins: `first`, `origin`, or microseconds since 1970 UTC."""
Name = Annotated[str, BeforeValidator(_name)]
"""Name of a source or a monitor: safe in paths and ids of our own making."""
ConditionText = Annotated[str, BeforeValidator(_condition)]
"""A text that `expressions.parse_condition` reads."""
MeasureText = Annotated[str, BeforeValidator(_measure)]
"""A text that `Measure.parse` reads, as it writes it."""
Option = Annotated[str, BeforeValidator(_option)]
