"""Ids of writes: one try of one step each. An id says when its write began, so that the age of any row can be told."""

from __future__ import annotations

import re
import secrets
import time

_ID = re.compile(r"[a-z]+-([0-9a-f]{12})7[0-9a-f]{19}")


def new_write(step: str) -> str:
    """The step, then a UUID of version 7: milliseconds since 1970, and chance."""
    random = f"{secrets.randbits(76):019x}"
    return f"{step}-{time.time_ns() // 1_000_000:012x}7{random}"


def begun_at(write: str) -> int | None:
    """When a write began, in microseconds; None where its id does not say."""
    found = _ID.fullmatch(write)
    return int(found[1], 16) * 1000 if found else None
