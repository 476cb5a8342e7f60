"""Epochs as whole numbers, and which of them a window holds.

Times are whole microseconds since 1970-01-01 UTC. Epoch 0 starts at the source's origin; epoch n is the
half-open interval ``[origin + n * length, origin + (n + 1) * length)``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_UNITS = {"us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}
_UNITS["w"] = 7 * _UNITS["d"]
_DURATION = re.compile(r"\s*(\d+)\s*(us|ms|s|m|h|d|w)\s*")
_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_duration(text: str) -> int:
    """Microseconds of a duration such as ``10s``, ``5m``, ``1d`` or ``1h30m``."""
    at, total = 0, 0
    while at < len(text):
        part = _DURATION.match(text, at)
        if part is None:
            break
        total += int(part[1]) * _UNITS[part[2]]
        at = part.end()
    if at < len(text) or total == 0:
        raise ValueError(f"{text!r} is not a duration; write numbers with units of {', '.join(_UNITS)}: 10s, 1h30m")
    return total


def parse_patience(text: str) -> int:
    """Microseconds of a duration, which may be none at all: ``0s``."""
    return 0 if text in ("0s", "0") else parse_duration(text)


def format_duration(microseconds: int) -> str:
    """The shortest text that `parse_duration` reads back."""
    parts = []
    for unit, size in sorted(_UNITS.items(), key=lambda pair: -pair[1]):
        count, microseconds = divmod(microseconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def to_datetime(microseconds: int) -> datetime:
    return _UNIX_EPOCH + timedelta(microseconds=microseconds)


def to_microseconds(moment: datetime) -> int:
    """Microseconds of a datetime; one without a zone is taken as UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _UNIX_EPOCH) // timedelta(microseconds=1)


def parse_time(text: str) -> int:
    """Microseconds of an ISO 8601 date or time; without a zone it is UTC."""
    try:
        return to_microseconds(datetime.fromisoformat(text.strip()))
    except ValueError:
        raise ValueError(f"{text!r} is not an ISO 8601 time; write 2001-01-31 or 2001-01-31T06:00Z") from None


def format_time(microseconds: int) -> str:
    """A time as people read it: only as fine as it needs to be, UTC."""
    moment = to_datetime(microseconds).replace(tzinfo=None)
    if microseconds % _UNITS["d"] == 0:
        return moment.date().isoformat()
    finest = {"m": "minutes", "s": "seconds", "us": "microseconds"}
    unit = next(unit for unit in finest if microseconds % _UNITS[unit] == 0)
    return moment.isoformat(timespec=finest[unit]) + "Z"


@dataclass(frozen=True, slots=True)
class Clock:
    """Turns times into epochs and back."""

    origin: int
    length: int

    def epoch_of(self, time: int) -> int:
        return (time - self.origin) // self.length

    def start_of(self, epoch: int) -> int:
        return self.origin + epoch * self.length

    def end_of(self, epoch: int) -> int:
        return self.start_of(epoch + 1)

    def ended_by(self, time: int) -> int:
        """Where the last epoch ends that is over at this time."""
        return self.start_of(self.epoch_of(time))

    def name(self, epoch: int) -> str:
        return format_time(self.start_of(epoch))


@dataclass(frozen=True, slots=True)
class Window:
    """Which epochs count at an epoch: the last `length`, or all since the last reset (None: all ever)."""

    length: int | None = None
    reset: int | None = None

    def period_of(self, epoch: int) -> int:
        """Changes its value exactly where everything counted so far is to be forgotten."""
        return 0 if self.reset is None else epoch // self.reset

    def leaving(self, seen: int, now: int) -> range:
        """The epochs that left the window since a node last observed, at epoch `seen`."""
        if self.length is None:
            return range(0)
        return range(max(0, seen - self.length + 1), max(0, min(now - self.length, seen) + 1))

    def members(self, now: int) -> range:
        """The epochs that count at the end of `now`."""
        if self.length is not None:
            return range(max(0, now - self.length + 1), now + 1)
        return range(self.period_of(now) * (self.reset or 0), now + 1)
