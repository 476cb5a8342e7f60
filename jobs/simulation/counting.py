"""What every site took in of every epoch of a trace, for several summaries at once, in one process without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jobs.simulation.grouping import MOST_PENDING, IntColumn, TraceGrouping, decoded, encoded
from monitoring_lib.epochs import Clock, format_duration, format_time
from monitoring_lib.errors import UsageError
from monitoring_lib.summaries import TICK, Cell, Intake, Measure, Rows, Summary

MOST_EPOCHS = 1_000_000
"""Epochs between the first and the last event of a trace; more is nearly always a wrong time or unit."""


@dataclass(frozen=True)
class EpochEvents:
    """One epoch: the sites with any event, where each belongs, and the rows of each intake by site."""

    epoch: int
    start: int
    end: int
    tick: int
    sites: Mapping[str, tuple[str, ...]]
    rows: Mapping[str, Mapping[str, Rows]]
    """By the intake's name; a site none of whose events count is not there."""

    def cell(self, site: str) -> Cell:
        return Cell(site, self.epoch, self.start, self.end, self.tick)


@dataclass(frozen=True)
class Wish:
    """How events are grouped for an intake; intakes that wish the same share the work."""

    keys: tuple[tuple[str, str], ...]
    """Names of keys and their expressions; '' for the tick."""
    hashed: bool
    measure: Measure
    where: str

    @classmethod
    def of(cls, intake: Intake) -> Wish:
        summary = intake.summary
        keys = tuple((key, "" if key == TICK else intake.keys[key]) for key in summary.keys)
        return cls(keys, summary.hashed, summary.measure, intake.where)


@dataclass
class Counting:
    """Takes in events, then gives the epochs in order. Without an origin, epoch 0 holds the first event."""

    monitor: str
    intakes: Sequence[Intake]
    length: int
    origin: int | None = None
    placement: tuple[str, ...] = ()
    groupings: dict[Wish, TraceGrouping] = field(init=False)
    _present: TraceGrouping = field(init=False)
    _tables: dict[str, pa.Table | None] = field(init=False, default_factory=dict)
    refused: int = field(init=False, default=0)
    """Events that a summary could not take in; of several summaries, those of the one that refused most."""
    examples: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        wishes = list(dict.fromkeys(map(Wish.of, self.intakes)))
        most = MOST_PENDING // max(1, len(wishes))
        self.groupings = {
            wish: TraceGrouping(
                self.monitor, [key for key, _ in wish.keys], wish.measure, self.start, self.length, most
            )
            for wish in wishes
        }
        places = [str(at) for at in range(len(self.placement))]
        self._present = TraceGrouping(self.monitor, places, Measure(), self.start, self.length, most)

    @property
    def start(self) -> int:
        return self.origin or 0

    @property
    def tick(self) -> int:
        return self.intakes[0].tick

    def see(self, epochs: IntColumn, sites: pa.Array, places: Sequence[pa.Array]) -> None:
        """Any events, whether they count or not: their sites are known from now on."""
        columns = [encoded(sites), *map(encoded, places)]
        codes = epochs
        for column in columns:  # numbered anew each time, so that no product grows beyond 64 bits
            codes = np.unique(codes, return_inverse=True)[1] * len(column.dictionary) + column.indices.to_numpy()
        first = np.unique(codes, return_index=True)[1]
        kept = [column.take(pa.array(first)) for column in columns]
        self._present.add(epochs[first], kept[0], {str(at): column for at, column in enumerate(kept[1:])}, None, {})

    def close(self) -> None:
        """All events are in: groups them, and leaves out what a summary refuses."""
        tables = {wish: grouping.table() for wish, grouping in self.groupings.items()}
        for intake in self.intakes:
            if intake.name not in self._tables:
                wish = Wish.of(intake)
                self._tables[intake.name] = self._taken(intake.summary, self.groupings[wish], tables[wish])

    def clock(self) -> Clock:
        """Where epoch 0 starts, now that all events are in."""
        return Clock(self.start + self._first() * self.length, self.length)

    def last_epoch(self) -> int:
        """The last epoch with events, -1 if there are none."""
        table = self._present.table()
        return -1 if table is None else int(table["epoch"][-1].as_py()) - self._first()

    def epochs(self) -> Iterator[tuple[int, EpochEvents]]:
        """Every epoch from 0 to the last one with events, also those without any."""
        clock, last = self.clock(), self.last_epoch()
        self._refuse_too_many(last + 1)
        placed = _Slices(self._present, self._present.table(), self._first(), 0)
        ticks = self._first() * (self.length // self.tick)
        slices = {
            intake.name: _Slices(self.groupings[Wish.of(intake)], self._tables[intake.name], self._first(), ticks)
            for intake in self.intakes
        }
        for epoch in range(last + 1):
            sites = {site: tuple(key[0].as_py() for key in rows.keys.values()) for site, rows in placed.of(epoch)}
            found = {name: dict(part.of(epoch)) for name, part in slices.items()}
            yield epoch, EpochEvents(epoch, clock.start_of(epoch), clock.end_of(epoch), self.tick, sites, found)

    def _first(self) -> int:
        """The number of the first epoch, counted from `start`."""
        table = self._present.table()
        return 0 if self.origin is not None or table is None else int(table["epoch"][0].as_py())

    def _taken(self, summary: Summary, grouping: TraceGrouping, table: pa.Table | None) -> pa.Table | None:
        if table is None or type(summary).refused is Summary.refused:
            return table
        refused = summary.refused(_Slices(grouping, table, 0, 0).rows(0, len(table)))
        if refused is None or not refused.true_count:
            return table
        left_out = table.filter(refused)
        events = int(left_out["events"].to_numpy().sum())
        if events > self.refused:
            self.refused = events
            keys = {name: left_out[f"key {name}"][0].as_py() for name in grouping.keys}
            self.examples = [", ".join(f"{name} {value!r}"[:200] for name, value in keys.items())]
        kept = table.filter(pc.invert(refused)).combine_chunks()
        return kept if len(kept) else None

    def _refuse_too_many(self, count: int) -> None:
        if count > MOST_EPOCHS:
            last = self.clock().start_of(count - 1)
            raise UsageError(
                f"the trace spans {count:,} epochs of {format_duration(self.length)}, from"
                f" {format_time(self.clock().origin)} to {format_time(last)}: more than {MOST_EPOCHS:,};"
                " choose longer epochs (--epoch), or mend the times or their format (--time-format)"
            )


class _Slices:
    """The rows of a grouped table, epoch by epoch and site by site."""

    def __init__(self, grouping: TraceGrouping, table: pa.Table | None, first: int, first_tick: int) -> None:
        self._cuts: NDArray[np.intp] = np.array([0])
        self._epochs: IntColumn = np.empty(0, np.int64)
        if table is None:
            return
        self._keys = {name: grouping.key(table, name) for name in grouping.keys}
        if first_tick and TICK in self._keys:
            self._keys[TICK] = pa.array(self._keys[TICK].to_numpy() - first_tick)
        self._events = table["events"].chunk(0)
        self._values = table["value"].chunk(0) if "value" in table.column_names else self._events
        self._sites = table["site"].chunk(0)
        codes, epochs = self._sites.indices.to_numpy(), table["epoch"].to_numpy() - first
        differs = np.ones(len(table), bool)
        differs[1:] = (codes[1:] != codes[:-1]) | (epochs[1:] != epochs[:-1])
        starts = np.flatnonzero(differs)
        self._cuts = np.append(starts, len(table))
        self._epochs = epochs[starts]

    def of(self, epoch: int) -> Iterator[tuple[str, Rows]]:
        """The sites of an epoch that have rows, by name."""
        begin, end = np.searchsorted(self._epochs, [epoch, epoch + 1])
        for at in range(begin, end):
            start, stop = int(self._cuts[at]), int(self._cuts[at + 1])
            yield self._sites[start].as_py(), self.rows(start, stop)

    def rows(self, start: int, stop: int) -> Rows:
        keys: dict[str, Any] = {name: decoded(column[start:stop]) for name, column in self._keys.items()}
        return Rows(keys, self._values[start:stop], self._events[start:stop])
