"""A notifier that remembers what it was called with, as Airflow's are called."""

from __future__ import annotations

from typing import Any

CALLS: list[tuple[dict[str, Any], dict[str, Any]]] = []


class RecordingNotifier:
    def __init__(self, **arguments: Any) -> None:
        self.arguments = arguments

    def __call__(self, context: dict[str, Any]) -> None:
        if self.arguments.get("fails"):
            raise RuntimeError("no such channel")
        CALLS.append((self.arguments, context))
