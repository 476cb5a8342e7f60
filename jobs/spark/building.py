"""Rows of the table `synopses`, made inside Spark's Python workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from monitoring_lib.epochs import Clock, format_time
from monitoring_lib.errors import FarwatchError
from monitoring_lib.summaries import Cell, Intake, Rows
from monitoring_lib.synopses.base import Synopsis
from monitoring_lib.tables import SYNOPSES

_DAY = 86_400_000_000
_MOST_BYTES = 8_000_000
_MOST_ROWS = 1_000


@dataclass
class CellOutcome:
    """What became of one intake in one cell: a synopsis, or the reason why there is none."""

    summary: str
    site: str
    start: int
    events: int = 0
    refused: int = 0
    shipping: int = 0
    payload: bytes = b""
    fault: str | None = None

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """What is raised here concerns this intake alone: the monitors that use it fail, with the reason."""
        try:
            yield
        except Exception as error:  # whatever a method's summary raises
            self.payload = b""
            reason = str(error) if isinstance(error, FarwatchError) else f"{type(error).__name__}: {error}"
            self.fault = f"site {self.site!r}, epoch {format_time(self.start)}: {reason}"


@dataclass(frozen=True)
class Making:
    """What all rows of a write have in common; `exact` names the intakes whose synopsis is the exact one."""

    source: str
    write: str
    clock: Clock
    exact: frozenset[str] = frozenset()

    @property
    def ddl(self) -> str:
        """Of the rows; what is never null is checked by the table."""
        return SYNOPSES.ddl.replace(" NOT NULL", "")

    def cell(self, intake: Intake, site: str, start: int) -> Cell:
        return Cell(site, self.clock.epoch_of(start), start, start + self.clock.length, intake.tick)

    def build(self, outcome: CellOutcome, intake: Intake, rows: Rows) -> Synopsis:
        """The synopsis of rows, without those that the summary refuses; both are counted."""
        outcome.events += pc.sum(rows.events).as_py()
        refused = intake.summary.refused(rows)
        if refused is not None:
            outcome.refused += pc.sum(rows.events.filter(refused)).as_py() or 0
            rows = rows.filter(pc.invert(refused))
        return intake.summary.build(self.cell(intake, outcome.site, outcome.start), rows)

    def batch(self, outcomes: list[CellOutcome]) -> pa.RecordBatch:
        starts = pa.array([outcome.start for outcome in outcomes], pa.int64())
        columns = {
            "source": pa.repeat(self.source, len(outcomes)),
            "summary": pa.array([outcome.summary for outcome in outcomes], pa.string()),
            "epoch_start": starts.cast(pa.timestamp("us", "UTC")),
            "day": pc.cast(pa.array([outcome.start // _DAY for outcome in outcomes], pa.int32()), pa.date32()),
            "site": pa.array([outcome.site for outcome in outcomes], pa.string()),
            "payload": pa.array([outcome.payload for outcome in outcomes], pa.binary()),
            "fault": pa.array([outcome.fault for outcome in outcomes], pa.string()),
            "write": pa.repeat(self.write, len(outcomes)),
        }
        for name in ("events", "refused", "shipping"):
            columns[name] = pa.array([getattr(outcome, name) for outcome in outcomes], pa.int64())
        return pa.RecordBatch.from_pydict({name: columns[name] for name in SYNOPSES.columns})


@dataclass
class OutcomeBatches:
    """Gathers outcomes into batches that are worth sending."""

    making: Making
    held: list[CellOutcome] = field(default_factory=list)
    size: int = 0

    def add(self, outcome: CellOutcome) -> Iterator[pa.RecordBatch]:
        self.held.append(outcome)
        self.size += len(outcome.payload)
        if self.size >= _MOST_BYTES or len(self.held) >= _MOST_ROWS:
            yield from self.rest()

    def rest(self) -> Iterator[pa.RecordBatch]:
        if self.held:
            yield self.making.batch(self.held)
        self.held, self.size = [], 0
