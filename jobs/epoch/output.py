"""The rows that a step writes: gathered by table, written when they are many, each part recorded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from jobs.epoch.handover import Handover
from jobs.lake import Lake
from jobs.lake.records import record
from monitoring_lib.tables import WRITES, Table

_MOST_BYTES = 32_000_000
"""Rows of one table that wait in memory; a long range is written in parts."""


@dataclass
class GatheredRows:
    """Rows that another process is to write under its write: gathered as `Output` gathers them."""

    write: str
    records: list[dict[str, Any]] = field(default_factory=list)
    """None: whoever writes the rows records them."""
    rows: dict[Table, list[pa.Table]] = field(default_factory=dict)

    def add(self, table: Table, rows: Iterable[pa.Table] | pa.Table) -> None:
        self.rows.setdefault(table, []).extend([rows] if isinstance(rows, pa.Table) else rows)


@dataclass
class Output:
    """One step's rows under one write."""

    lake: Lake
    handover: Handover
    step: str
    write: str
    records: list[dict[str, Any]] = field(default_factory=list)
    _waiting: dict[Table, list[pa.Table]] = field(default_factory=dict)
    _bytes: dict[Table, int] = field(default_factory=dict)
    """Of the rows that wait: counted as they come, because a long range adds thousands of parts."""
    _parts: dict[Table, int] = field(default_factory=dict)

    def add(self, table: Table, rows: Iterable[pa.Table] | pa.Table) -> None:
        parts = [rows] if isinstance(rows, pa.Table) else list(rows)
        self._waiting.setdefault(table, []).extend(parts)
        self._bytes[table] = self._bytes.get(table, 0) + sum(part.nbytes for part in parts)
        if self._bytes[table] > _MOST_BYTES:
            self._flush(table)

    def finish(self, records: Iterable[dict[str, Any]] = ()) -> None:
        """Writes what waits, then the records of everything."""
        for table in sorted(self._waiting, key=lambda table: not table.at_sites):  # the sites' first
            self._flush(table)
        self.lake.append(WRITES, [*self.records, *records])

    def _flush(self, table: Table) -> None:
        rows = pa.concat_tables([table.schema.empty_table(), *self._waiting.pop(table)])
        self._bytes.pop(table)
        if not rows.num_rows:
            return
        self.lake.append(table, rows)
        self.records += record(table, self.handover.source, self.step, rows, self.write)
        self._remember(table, rows)

    def _remember(self, table: Table, rows: pa.Table) -> None:
        """Rows of one part stay for `validate`; more than that it reads from the table."""
        parts = self._parts[table] = self._parts.get(table, 0) + 1
        written = self.handover.local.written
        before = written.get(table.name, [])
        if not table.at_sites:
            written[table.name] = None if parts > 1 or before is None else [*before, rows]
