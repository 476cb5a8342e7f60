"""How late a row may be: rows of sealed epochs re-open them, up to the source's horizon."""

from __future__ import annotations

from jobs.lake import Lake
from monitoring_lib.config import Source


def earliest_taken(lake: Lake, source: Source) -> int | None:
    """Where the horizon lies, counted back from the end of the last sealed epoch; None where nothing is too late."""
    if source.late.horizon is None:
        return None
    last = lake.ledger.last_sealed(source.name)
    return None if last is None else last + source.epoch - source.late.horizon
