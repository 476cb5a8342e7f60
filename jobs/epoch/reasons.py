"""Monitors that failed for the same reason are told of once, with one remedy for all of them."""

from __future__ import annotations

import re
from collections.abc import Mapping

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
