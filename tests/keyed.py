"""A summary with whatever keys and measure a test wishes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from monitoring_lib.summaries import Cell, Measure, Rows, Summary
from monitoring_lib.synopses.counts import Counts


@dataclass(frozen=True)
class Keyed(Summary):
    """What is built of a cell does not matter: the synopsis is empty."""

    names: tuple[str, ...] = ("item",)
    measured: str = "count"

    synopsis: ClassVar[type[Counts]] = Counts

    @property
    def keys(self) -> tuple[str, ...]:
        return self.names

    @property
    def measure(self) -> Measure:
        return Measure.parse(self.measured)

    def build(self, cell: Cell, rows: Rows) -> Counts:
        return Counts()
