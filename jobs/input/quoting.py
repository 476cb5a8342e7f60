"""What an error quotes of a file is for the person at the terminal: it is not sent to others."""

from __future__ import annotations

_QUOTES = ("; did you mean ", "; its columns: ", " is never closed: ", ": the header names ", ": CSV parse error: ")
"""Phrases behind which the reasons of refused files quote what stands in the file."""


def without_content(reason: str) -> str:
    """A reason as it may be sent to others."""
    ends = [reason.find(phrase) + len(phrase.rstrip(" :")) for phrase in _QUOTES if phrase in reason]
    return f"{reason[: min(ends)]} …" if ends else reason
