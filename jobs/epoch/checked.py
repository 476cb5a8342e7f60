"""Rows that a monitor's run reads, each part compared with what its seal, or the record of its write, says of it.

A part is compared as a whole and only where it is read anyway: a seal keeps one digest for each output, method or
summary of an epoch, and a read is of just that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.epoch.asked_then import source_then
from jobs.epoch.monitor_run import MonitorRun
from jobs.epoch.replaying import replay_command
from jobs.lake import Lake, column_list
from jobs.lake.checking import Difference, differences
from jobs.lake.conditions import RowCondition
from jobs.lake.records import Part, digest_key, owner_column, recorded_once
from jobs.lake.seals import Seal
from jobs.lake.times import rows_by
from jobs.terminal.wording import listed
from monitoring_lib.codec import is_intact
from monitoring_lib.epochs import format_time
from monitoring_lib.errors import DamagedTable, UsageError
from monitoring_lib.tables import SYNOPSES, TABLES, Table

if TYPE_CHECKING:
    from jobs.lake.ledger import Ledger


@dataclass
class WantedParts:
    """The parts of a table that a run is to read; `owner` is its monitor, or the summary of synopses."""

    run: MonitorRun
    table: Table
    owner: str
    method: str = ""
    named: set[tuple[int, str]] = field(default_factory=set)
    """Start of the epoch, and write."""
    digests: dict[Part, str] = field(default_factory=dict)

    def sealed(self, outputs: Sequence[str], epochs: Iterable[int]) -> WantedParts:
        """With what the seals of these epochs name; UsageError where synopses are wanted that were never made."""
        for epoch in sorted(epochs):
            past, start = self.run.past(epoch), self.run.start_of(epoch)
            for output in outputs:
                key = digest_key(output, self.method or self._summary)
                if self._summary and key not in past.digests:
                    if self.run.is_bare:  # its answers say that they lack what came before
                        continue
                    raise UsageError(_never_made(self.run, start))
                self.named.add((start, past.writes[output]))
                digest = past.digests.get(key, "")
                if digest:
                    self.digests[Part(past.writes[output], output, self.owner, self.method, start)] = digest
        return self

    def written(self, lake: Lake, write: str, epochs: Iterable[int]) -> WantedParts:
        """With what a step of the run itself has written."""
        starts = {self.run.start_of(epoch) for epoch in epochs}
        if not starts:
            return self
        self.named |= {(start, write) for start in starts}
        span: list[RowCondition] = [("epoch_start", ">=", min(starts)), ("epoch_start", "<=", max(starts))]
        self.digests |= {
            part: row["digest"]
            for part, row in recorded_once(lake, write, span).items()
            if part.epoch_start in starts and (part.owner, part.method) == (self.owner, self.method)
            if part.output in _OUTPUTS.get(self.table.name, (self.table.name,))
        }
        return self

    def read(self, lake: Lake) -> pa.Table:
        """The rows, with every column that counts as content; DamagedTable if they are not those that were written."""
        return self._checked(lake, lake.named(self.table, self.named, self._conditions, self._columns))

    def check(self, lake: Lake) -> None:
        """The same without the payloads: they stay where they are, for Spark to read."""
        self._checked(lake, lake.fingerprints(self.table, self.named, self._conditions))

    def _checked(self, lake: Lake, rows: pa.Table) -> pa.Table:
        found = differences(self.table, rows, self.digests)
        if found:
            raise damage(lake, self.run.source.name, self.run.monitor.name, found[0], corrupt_of(rows, found[0]))
        return rows

    @property
    def _summary(self) -> str:
        return self.owner if self.owner != self.run.monitor.name else ""

    @property
    def _columns(self) -> list[str]:
        return [*self.table.content, "write"]

    @property
    def _conditions(self) -> list[RowCondition]:
        if self._summary:
            return [("source", "=", self.run.source.name), ("summary", "=", self.owner)]
        return [("monitor", "=", self.owner), *([("method", "=", self.method)] if self.method else [])]  # type: ignore[list-item]


_OUTPUTS = {"messages": ("inbox", "messages")}
"""Of tables whose rows are recorded under other names than the table's."""


def check_sealed(
    lake: Lake, table: Table, outputs: Sequence[str], seals: Sequence[Seal], rows: pa.Table, method: str = ""
) -> pa.Table:
    """The rows, all that the seals of one monitor name as their outputs (of a method, or of a summary of synopses);
    DamagedTable if they are not."""
    expected = {
        Part(_write_of(seal, output), output, *_owner(seal, table, _method_of(key)), seal.epoch_start): digest
        for seal in seals
        for key, digest in seal.digests.items()
        for output in outputs
        if key.split(":")[0] == output and method in ("", _method_of(key))
        if digest or table is not SYNOPSES  # of synopses '' says that nothing happened
    }
    found = differences(table, rows, expected)
    if found:
        raise damage(lake, seals[0].source, seals[0].monitor, found[0])
    return rows


def _write_of(seal: Seal, output: str) -> str:
    return seal.writes["gate" if output == "arrivals" else output]


def _owner(seal: Seal, table: Table, of: str) -> tuple[str, str]:
    """Owner and method of a part, where a seal keeps its digest under `of`."""
    if table is SYNOPSES:
        return of, ""
    return seal.monitor if "monitor" in table.columns else seal.source, of


def _method_of(key: str) -> str:
    return key.partition(":")[2]


def _never_made(run: MonitorRun, start: int) -> str:
    """A method that was chosen later takes in other synopses than those before it: without them it would count less."""
    source, name, end = run.source, run.monitor.name, run.start_of(run.first)
    command = replay_command(source.name, name, source.origin, end, "another method")
    return (
        f"{name}: a method of it takes in other synopses than were made in epoch {format_time(start)}, which is in its"
        f" window. Make them from the events by `{command}`, give the monitor a new name, or take the change back"
    )


def corrupt_of(rows: pa.Table, found: Difference) -> str:
    """Whose payload of a part is corrupt, in words; '' where rows are lost or doubled, or their payloads not here."""
    if "payload" not in rows.column_names or not pa.types.is_binary(rows["payload"].type):
        return ""
    owner = next(name for name in ("site", "node", "sender") if name in rows.column_names)
    part = rows_by(rows, "epoch_start", "write").get((found.part.epoch_start, found.part.write))
    if part is None:
        return ""
    cells = zip(part[owner].to_pylist(), part["payload"].to_pylist(), strict=True)
    whose = sorted({name for name, payload in cells if payload and not is_intact(payload)})
    return f", the payload of {listed(whose)} is corrupt" if whose else ""


def damage(lake: Lake, source: str, monitor: str, found: Difference, corrupt: str = "") -> DamagedTable:
    """What a person is told of a part that is not as it was written."""
    return damages(lake, source, monitor, [found], corrupt)[0]


def damages(
    lake: Lake, source: str, monitor: str, found: Sequence[Difference], corrupt: str = ""
) -> list[DamagedTable]:  # fmt: skip
    """The same of several parts: what was sealed before them is read once for all."""
    starts = _first_lost(lake, source, monitor, [one.part for one in found if not one.rows])
    made_again = cache(partial(_made_again, lake.ledger, source, monitor))
    told = []
    for one in found:
        start, table = one.part.epoch_start, _table_of(one.part.output).name
        told.append(
            DamagedTable(
                f"{monitor}, epoch {format_time(start)}: the table `{table}` is damaged: {one.text}{corrupt}."
                f" {made_again(starts.get(one.part, start), table)}"
            )
        )
    return told


def _table_of(output: str) -> Table:
    return TABLES["messages" if output == "inbox" else output]


def _first_lost(lake: Lake, source: str, monitor: str, parts: Sequence[Part]) -> dict[Part, int]:
    """Of each part the first of the epochs up to its own whose rows are all gone: each is needed to make the next."""
    found: dict[Part, int] = {}
    for output, owner in {(part.output, part.owner) for part in parts}:
        lost = [part for part in parts if (part.output, part.owner) == (output, owner)]
        before = lake.ledger.seals(source, monitor, end=max(part.epoch_start for part in lost))
        table, write = _table_of(output), "gate" if output == "arrivals" else output
        rows = lake.sealed(table, before, [write], [(owner_column(table), "=", owner)], ["epoch_start"])
        there = set(column_list(rows, "epoch_start"))
        first: int | None = None
        first_before: dict[int, int | None] = {}
        for seal in before:
            first_before[seal.epoch_start] = first
            if seal.epoch_start in there:
                first = None
            elif first is None and any(digest for key, digest in seal.digests.items() if key.split(":")[0] == output):
                first = seal.epoch_start
        for part in lost:
            start = first_before.get(part.epoch_start, first)
            found[part] = part.epoch_start if start is None else start
    return found


def _made_again(ledger: Ledger, source: str, monitor: str, start: int, table: str) -> str:
    """How a sealed epoch's rows, and all that follows from them, are had again; of one that is not sealed, by a run."""
    sealed = ledger.seals(source, monitor, start)
    if not sealed:
        return "Run the epoch again"
    end = sealed[-1].epoch_start + source_then(sealed[-1]).epoch
    command = replay_command(source, monitor, start, end, f"{table} damaged")
    return f"Restore it from a copy, or make the rows again from the events by `{command}`"
