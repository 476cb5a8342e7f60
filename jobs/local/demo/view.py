"""How far the demo has come: a table that fills on a terminal, a line for each step elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Self

from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from jobs.terminal.console import console, say
from monitoring_lib.verbs import VERBS

BETWEEN_LINES = 15.0
"""Seconds after which silence is broken where there is no terminal."""


@dataclass(frozen=True)
class TaskProgress:
    """One task of one run: Airflow's state, and how long it has run or is running."""

    epoch: datetime
    verb: str
    state: str
    seconds: float

    @property
    def is_over(self) -> bool:
        return self.state in ("success", "failed", "upstream_failed", "skipped")


@contextmanager
def stage(begun: float, what: str) -> Iterator[None]:
    """One of the preparations."""
    started = time.monotonic()
    if console().is_terminal:
        with console().status(what):
            yield
    else:
        say(f"[{started - begun:4.0f} s] {what} ...")
        yield
    say(f"[{time.monotonic() - begun:4.0f} s] {what}: done in {time.monotonic() - started:.1f} s", style="dim")


class DemoView:
    """Shows the steps of all epochs, and the moment's work."""

    def __init__(self, begun: float, epochs: Sequence[datetime]) -> None:
        self.begun, self.epochs = begun, epochs
        self.told: set[tuple[datetime, str]] = set()
        self.last_line = time.monotonic()
        self.live = Live(console=console(), refresh_per_second=4) if console().is_terminal else None

    def __enter__(self) -> Self:
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live is not None:
            self.live.stop()

    def show(self, steps: Sequence[TaskProgress]) -> None:
        if self.live is not None:
            self.live.update(self._table(steps))
            return
        for step in steps:
            if step.is_over and (step.epoch, step.verb) not in self.told:
                self.told.add((step.epoch, step.verb))
                self._line(f"{step.epoch:%H:%M} {step.verb:9} {step.state} ({step.seconds:.1f} s)")
        if time.monotonic() - self.last_line > BETWEEN_LINES:
            running = [f"{step.epoch:%H:%M} {step.verb}" for step in steps if step.state == "running"]
            self._line(f"at work: {', '.join(running) or 'the scheduler chooses what is next'}")

    def _line(self, text: str) -> None:
        self.last_line = time.monotonic()
        say(f"[{self.last_line - self.begun:4.0f} s] {text}")

    def _table(self, steps: Sequence[TaskProgress]) -> Table:
        by_cell = {(step.epoch, step.verb): step for step in steps}
        elapsed = time.monotonic() - self.begun
        table = Table(title=f"Airflow runs the epochs ({elapsed:.0f} s)", title_justify="left", box=None)
        table.add_column("epoch")
        for verb in VERBS:
            table.add_column(verb, justify="right", min_width=8)
        for epoch in self.epochs:
            cells = [_cell(by_cell.get((epoch, verb))) for verb in VERBS]
            table.add_row(f"{epoch:%H:%M} UTC", *cells)
        return table


def _cell(step: TaskProgress | None) -> Text | Spinner:
    if step is None or step.state in ("none", "scheduled", "queued", "None"):
        return Text("·", "dim")
    if step.state == "running":
        return Spinner("dots", f"{step.seconds:.0f} s", style="cyan")
    if step.state == "success":
        return Text(f"{step.seconds:.1f} s", "green")
    return Text(step.state, "red" if step.state == "failed" else "yellow")
