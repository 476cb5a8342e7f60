"""Why monitors fail, as people read it: with the epoch, and each reason once, with one remedy for all of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from monitoring_lib.epochs import format_time
from monitoring_lib.errors import DataError

_ALL = "\0"
"""Stands in a reason where it names the monitor in a command."""


def by_reason(reasons: Mapping[str, str]) -> dict[tuple[str, ...], str]:
    """By the monitors that share it, each reason once: without their names in front, its commands for all of them."""
    alike: dict[str, list[str]] = {}
    for name, reason in sorted(reasons.items()):
        plain = reason.removeprefix(f"{name}: ").removeprefix(f"{name}, ")
        plain = re.sub(rf"--monitors {re.escape(name)}(?=[ `])", f"--monitors {_ALL}", plain)
        alike.setdefault(plain, []).append(name)
    return {tuple(names): plain.replace(_ALL, ",".join(names)) for plain, names in alike.items()}


@contextmanager
def with_epoch(start: int) -> Iterator[None]:
    """A protocol that refuses data knows the site; which epoch of the range they came in is added here."""
    try:
        yield
    except DataError as error:
        raise DataError(f"epoch {format_time(start)}, {error}") from error
