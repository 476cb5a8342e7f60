"""How the text of an alert begins: whom it is about, and which epoch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monitoring_lib.epochs import format_time, to_microseconds

_OF_FILES = ("file refused", "quarantine")
"""Kinds that are about files, which belong to no epoch yet: their rows carry the source's origin."""


def whom(alert: Mapping[str, Any], site: str = "") -> str:
    """The monitor or source, the site as it is to be written, and the epoch where there is one."""
    whose = f"{alert['monitor'] or alert['source']}{site}"
    if alert["kind"] in _OF_FILES:
        return whose
    return f"{whose}, epoch {format_time(to_microseconds(alert['epoch_start']))}"
