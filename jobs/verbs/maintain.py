"""Maintenance of all tables, one after the other: what is due is found, and done unless it is only asked for."""

from __future__ import annotations

import time

from jobs.lake import Lake
from jobs.lake.care import Care, TableCare
from jobs.terminal.progress import progress
from monitoring_lib.tables import TABLES


def maintain(lake: Lake, dry_run: bool = False, now: int | None = None) -> list[TableCare]:
    """What there was to do at each table that is there. `now` is in microseconds."""
    named, found = lake.ledger.named_writes(), []
    with progress("tables maintained", len(TABLES)) as work:
        for table in TABLES.values():
            care = Care(table, lake.store_of(table), named, time.time_ns() // 1000 if now is None else now)
            seen = care.look()
            if seen is not None:
                found.append(seen)
                if not dry_run:
                    care.do(seen, lake.site_tables)
            work.advance()
    return found
