"""How a column of times is written: which `time_format` of a source reads all of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from monitoring_lib.epochs import to_microseconds

PATTERNS = (
    "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M", "%d/%m/%Y", "%m/%d/%Y",
    "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%d.%m.%Y", "%d-%m-%Y %H:%M:%S", "%d-%m-%Y", "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d %H:%M", "%Y/%m/%d", "%Y%m%d%H%M%S", "%Y%m%d", "%d/%b/%Y:%H:%M:%S %z", "%d %b %Y %H:%M:%S",
    "%b %d %Y %H:%M:%S", "%a %b %d %H:%M:%S %Y", "%d-%b-%Y %H:%M:%S", "%d-%b-%Y", "%m/%d/%Y %I:%M:%S %p",
    "%m/%d/%Y %I:%M %p", "%Y-%m-%d %I:%M:%S %p",
)  # fmt: skip
_ISO = re.compile(r"\d{4}-\d\d-\d\d([Tt ]\d\d(:\d\d){0,2}(\.\d+)?(Z|z|[+-]\d\d:?\d\d)?)?")
_NUMBER = re.compile(r"\d{1,18}(\.\d+)?")
_UNITS = (("seconds", 1e8, 5e9, 1_000_000), ("milliseconds", 1e11, 5e12, 1_000), ("microseconds", 1e14, 5e15, 1))
"""A unit, the numbers that are times from 1973 to 2128 in it, and what makes microseconds of it."""


@dataclass(frozen=True)
class Written:
    """A `time_format`, the times in microseconds, and what else the same texts could mean."""

    format: str
    times: Sequence[int]
    others: Sequence[str] = ()
    zoned: bool = False
    """Whether the texts say their zone themselves."""
    plain_number: bool = False
    """Whether they are numbers too small for a time since 1970, as of seconds since a start of their own."""


def written(texts: Sequence[str]) -> Written | None:
    """How all of these texts are written as times, None if they are none."""
    if not texts:
        return None
    if all(_ISO.fullmatch(text) for text in texts):
        moments = [datetime.fromisoformat(text.replace("z", "Z")) for text in texts]
        return Written("auto", [_microseconds(moment) for moment in moments], zoned=moments[0].tzinfo is not None)
    fits = [pattern for pattern in PATTERNS if all(_moment(text, pattern) is not None for text in texts)]
    if fits:
        moments = [moment for text in texts if (moment := _moment(text, fits[0])) is not None]
        same = [
            pattern for pattern in fits[1:] if any(_moment(text, pattern) != _moment(text, fits[0]) for text in texts)
        ]
        return Written(fits[0], [_microseconds(moment) for moment in moments], same, "%z" in fits[0])
    if not all(_NUMBER.fullmatch(text) for text in texts):
        return None
    numbers = [float(text) for text in texts]
    for unit, least, most, factor in _UNITS:
        if all(least <= number <= most for number in numbers):
            return Written(
                "auto" if unit == "seconds" else unit, [int(number * factor) for number in numbers], zoned=True
            )
    if max(numbers) >= _UNITS[0][1]:
        return None
    return Written("auto", [int(number * 1_000_000) for number in numbers], zoned=True, plain_number=True)


def _moment(text: str, pattern: str) -> datetime | None:
    try:
        return datetime.strptime(text, pattern)
    except ValueError:
        return None


def _microseconds(moment: datetime) -> int:
    return to_microseconds(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))
