"""What a deployment has Spark for, done in this process: statistics of sites and synopses, straight from the events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from jobs import quality
from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from jobs.lake import new_write
from jobs.lake.records import record
from monitoring_lib.config import Source
from monitoring_lib.epochs import to_datetime
from monitoring_lib.hashing import SPARK_SEED, hash_strings
from monitoring_lib.summaries import Cell, Rows, Summary
from monitoring_lib.tables import SYNOPSES, WRITES, Column, Kind

Event = tuple[int, str, str]
"""Hour, site, item; each counts once."""


def statistics(source: Source, events: Iterable[Event], epochs: range) -> pa.Table:
    """How many events each site has in each of these epochs."""
    counts = {
        cell: count for cell, count in counted(source, events).items() if source.clock.epoch_of(cell[0]) in epochs
    }
    rows = [{"epoch_start": start, "site": site, "events": count} for (start, site), count in sorted(counts.items())]
    return pa.Table.from_pylist(rows, quality.statistics_schema([]))


def counted(source: Source, events: Iterable[Event]) -> Counter[tuple[int, str]]:
    """By start of the epoch and site; all events count for every monitor."""
    return Counter((source.clock.start_of(hour), site) for hour, site, _ in events)


def summarise(context: Context, handover: Handover, events: Iterable[Event]) -> None:
    """The synopses of all monitors' methods."""
    if not handover.running:
        return
    source = context.config.source(handover.source)
    write = handover.writes["synopses"] = new_write("summarise")
    cells: dict[tuple[int, str], list[str]] = {}
    for hour, site, item in events:
        cells.setdefault((hour, site), []).append(item)
    wanted: dict[str, Summary] = {}
    for name in handover.running:
        monitor = context.config.monitor(name)
        chosen, shadows = monitor.method_objects(source)
        for summary in (one.summary() for one in (chosen, *shadows)):
            wanted[monitor.intake(summary, source).name] = summary
    rows: list[dict[str, Any]] = []
    first, last = (source.clock.epoch_of(moment) for moment in (min(handover.monitors.values()), handover.end))
    for (hour, site), items in sorted(cells.items()):
        if not first <= hour < last:
            continue
        start = source.clock.start_of(hour)
        for name, summary in wanted.items():
            synopsis = summary.build(
                Cell(site, hour, start, start + source.epoch, source.epoch), rows_of(items, hour, summary.hashed)
            )
            rows.append(_synopsis_row(source.name, name, start, site, len(items), synopsis.to_bytes(), write))
    stored = pa.Table.from_pylist(rows, SYNOPSES.schema)
    context.lake.append(SYNOPSES, stored)
    context.lake.append(WRITES, record(SYNOPSES, source.name, "summarise", stored, write))


def rows_of(items: Iterable[str], hour: int, hashed: bool = False) -> Rows:
    """Counts by item; the whole hour is one tick."""
    counts: dict[str, int] = {}
    for item in items:
        counts[item] = counts.get(item, 0) + 1
    names = sorted(counts)
    numbers = pa.array([counts[name] for name in names], pa.int64())
    ticks, column = pa.array([hour] * len(names), pa.int64()), pa.array(names, pa.string())
    found = pa.array(hash_strings(column, SPARK_SEED)) if hashed else column
    return Rows({"tick": ticks, "item": found}, numbers, numbers)


def _synopsis_row(
    source: str, name: str, start: int, site: str, events: int, payload: bytes, write: str
) -> dict[str, Any]:
    moment = to_datetime(start)
    return filled(SYNOPSES.columns) | {
        "source": source, "summary": name, "epoch_start": moment, "day": moment.date(), "site": site,
        "events": events, "shipping": len(payload), "payload": payload, "write": write,
    }  # fmt: skip


def filled(columns: Mapping[str, Column]) -> dict[str, Any]:
    """Nothing in every column: null, or 0 where there must be a number."""
    return {
        name: 0 if column.kind == Kind.LONG and not column.nullable else None for name, column in columns.items()
    }  # fmt: skip
