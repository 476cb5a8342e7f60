"""How far a long piece of work has come, on standard error, once it has taken two seconds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobs.terminal.console import console, say

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE = 2.0
"""Seconds that pass without a word."""
BETWEEN_LINES = 10.0
"""Seconds between two lines where there is no terminal for a bar."""


@dataclass
class TrackedWork:
    """A piece of work of `total` units, None where nobody knows how many there are."""

    what: str
    total: int | None
    done: int = 0
    _next: float = field(default_factory=lambda: time.monotonic() + PATIENCE)
    _bar: Progress | None = None

    def advance(self, units: int = 1) -> None:
        self.done += units
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self.done)
        elif time.monotonic() >= self._next:
            self._show()

    def _show(self) -> None:
        if not console().is_terminal:
            self._next = time.monotonic() + BETWEEN_LINES
            say(f"{self.what}: {self.done:,}" + (f" of {self.total:,}" if self.total is not None else ""))
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            console=console(), transient=True,
        )  # fmt: skip
        self._bar.add_task(self.what, total=self.total, completed=self.done)
        self._bar.start()

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[TrackedWork]:
    """Shows the work as it advances; the bar is gone when it ends."""
    work = TrackedWork(what, total)
    try:
        yield work
    finally:
        work.end()
