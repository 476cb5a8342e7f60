"""Landings against events: what the ledger says was landed must be there, row for row, and nothing beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from jobs.auditing.scope import AuditScope, EpochSlice
from jobs.lake import Lake, column_list
from jobs.lake.conditions import RowCondition
from jobs.lake.seals import LANDING, Seal
from jobs.quality.findings import Finding
from jobs.terminal.wording import counted
from monitoring_lib.tables import EPOCHS, LANDINGS


@dataclass(frozen=True)
class EventCounts:
    """Of the epochs of a chunk: by (epoch, site, landing) how many events there are."""

    cells: Counter[tuple[int, str, int]]

    def came(self, epoch: int, landing: int) -> set[str]:
        """The sites that had events in an epoch, as far as the first `landing` landings brought them."""
        return {site for site, number in self._of(epoch) if number <= landing}

    def came_later(self, epoch: int, landing: int) -> bool:
        """Whether later landings have brought events to an epoch."""
        return any(number > landing for _, number in self._of(epoch))

    def _of(self, epoch: int) -> list[tuple[str, int]]:
        return self._by_epoch.get(epoch, [])

    @cached_property
    def _by_epoch(self) -> dict[int, list[tuple[str, int]]]:
        found: dict[int, list[tuple[str, int]]] = {}
        for epoch, site, number in self.cells:
            found.setdefault(epoch, []).append((site, number))
        return found


def check_landed(lake: Lake, scope: AuditScope, chunk: EpochSlice) -> tuple[EventCounts, list[Finding]]:
    """Counts the events of a chunk, and holds the counts to the seals of the landings that brought them."""
    source, clock = scope.source, scope.source.clock
    start, end = clock.start_of(chunk.start), clock.start_of(chunk.stop)
    brought = [seal for seal in lake.ledger.landed(source.name, start, end) if seal.revision <= scope.landing]
    numbers = {seal.write: seal.revision for seal in brought}
    found = _counted(lake, scope, start, end) if brought else _NONE
    there: Counter[tuple[int, str]] = Counter()
    cells: Counter[tuple[int, str, int]] = Counter()
    columns = (column_list(found, name) for name in ("epoch_start", "site", "write", "events"))
    for at, site, write, events in zip(*columns, strict=True):
        there[at, write] += events
        cells[clock.epoch_of(at), site, numbers[write]] += events
    return EventCounts(cells), list(_compared(brought, there))


_NONE = pa.table(
    {"epoch_start": pa.array([], pa.int64()), "site": pa.array([], pa.string()), "write": pa.array([], pa.string()),
     "events": pa.array([], pa.int64())}
)  # fmt: skip


def _counted(lake: Lake, scope: AuditScope, start: int, end: int) -> pa.Table:
    from pyspark.sql import functions as F

    events = lake.events(scope.source, scope.landing, start, end)
    cells = events.groupBy(F.unix_micros("epoch_start").alias("epoch_start"), "site", "write")
    return pa.table(cells.agg(F.count(F.lit(1)).alias("events")).toArrow())


def _compared(brought: list[Seal], there: Counter[tuple[int, str]]) -> Iterator[Finding]:
    """Landing by landing; of an epoch in which files were replaced, all landings together."""
    by_epoch: dict[int, list[Seal]] = {}
    for seal in brought:
        by_epoch.setdefault(seal.epoch_start, []).append(seal)
    for start, seals in by_epoch.items():
        replaced = sum(seal.counts.get("replaced", 0) for seal in seals)
        for together in [seals] if replaced else [[seal] for seal in seals]:
            expected = sum(seal.counts.get("landed", 0) for seal in together) - replaced
            events = sum(there[start, seal.write] for seal in together)
            if events != expected:
                numbers = " and ".join(str(seal.revision) for seal in together)
                yield Finding(
                    start, "events are those that landed", False, observed=counted(events, "event"),
                    detail=f"landing {numbers} brought {counted(expected, 'event')}; rows of the table `events` were"
                    " removed or added since: restore it from a copy",
                )  # fmt: skip


def check_journal(lake: Lake, scope: AuditScope) -> list[Finding]:
    """Each landing's files against what its seals say that they brought."""
    source = scope.source
    of_landings: list[RowCondition] = [("source", "=", source.name), ("monitor", "=", LANDING)]
    seals = lake.centre.read(EPOCHS, of_landings, ["counts", "write"])
    landed = pc.fill_null(pc.map_lookup(seals["counts"], "landed", "first"), 0).to_pylist()
    sealed: Counter[str] = Counter()
    for write, rows in zip(seals["write"].to_pylist(), landed, strict=True):
        sealed[write] += rows
    journal = {seal.write: seal.revision for seal in lake.ledger.journal(source.name, source.clock)}
    columns = ["path", "read", "landed", "quarantined", "write"]
    findings, by_write = [], Counter[str]()
    for row in lake.sites.read(LANDINGS, [("source", "=", source.name)], columns).to_pylist():
        if journal.get(row["write"], scope.landing + 1) > scope.landing:
            continue
        by_write[row["write"]] += row["landed"]
        if row["read"] != row["landed"] + row["quarantined"]:
            observed = f"{row['read']} rows read, {row['landed']} landed, {row['quarantined']} set aside"
            findings.append(
                Finding(source.origin, "every row read is landed or set aside", False, observed=observed,
                        detail=f"{row['path']}: the table `landings` was changed since; restore it from a copy")
            )  # fmt: skip
    for write, number in journal.items():
        if number <= scope.landing and by_write[write] != sealed[write]:
            findings.append(
                Finding(
                    source.origin, "files hold what was landed", False, observed=counted(by_write[write], "row"),
                    detail=f"the seals of landing {number} say {counted(sealed[write], 'row')}; the table"
                    f" `{LANDINGS.name}` or the ledger was changed since: restore it from a copy",
                )
            )  # fmt: skip
    return findings
