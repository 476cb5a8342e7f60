"""Ranges of a sliding window that a user may ask for."""

from __future__ import annotations

from monitoring_lib.epochs import format_duration
from monitoring_lib.errors import UsageError
from monitoring_lib.methods import Ask, LookUp


def epochs_asked(ask: Ask, asked: LookUp) -> int:
    """The number of last epochs that a look-up is about."""
    length = ask.window.length
    if asked.point is not None or asked.query or asked.range is None:
        raise UsageError("a distinct count has no items to look up; ask for a range of the window, as --range 1h")
    if length is None:
        raise UsageError("a growing window is kept as a whole; ranges need a sliding one, as `window: 7d`")
    count, rest = divmod(asked.range, ask.epoch)
    if rest or not 1 <= count <= length:
        raise UsageError(
            f"range: {format_duration(asked.range)} is not a whole number of epochs of {format_duration(ask.epoch)},"
            f" at most {format_duration(length * ask.epoch)}"
        )
    return count
