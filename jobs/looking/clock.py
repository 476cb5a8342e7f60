"""How far a monitor is behind the clock: epochs that have ended long enough ago and are not sealed."""

from __future__ import annotations

import time

from jobs.lake import Lake, column_list
from jobs.lake.conditions import RowCondition
from jobs.lake.seals import LANDING
from monitoring_lib.config import Source
from monitoring_lib.tables import EPOCHS

_LIVELY = 4
"""A source is live if its newest events landed within so many of its runs; an old trace is nobody's delay."""


def now() -> int:
    return int(time.time() * 1_000_000)


def is_live(lake: Lake, source: Source) -> bool:
    """Whether its events land as they happen: so it says by a `deadline`, or so they came last."""
    if source.deadline is not None:
        return True
    conditions: list[RowCondition] = [("source", "=", source.name), ("monitor", "=", LANDING)]
    rows = lake.centre.read(EPOCHS, conditions, ["epoch_start", "sealed_at"])
    landed = [
        (start, sealed)
        for start, sealed in zip(column_list(rows, "epoch_start"), column_list(rows, "sealed_at"), strict=True)
        if start >= source.origin
    ]
    if not landed:
        return False
    newest, at = max(landed, key=lambda pair: (pair[0], -pair[1]))
    return bool(at - (newest + source.epoch) <= _LIVELY * source.schedule)


def overdue(source: Source, last_sealed: int | None, at: int) -> int:
    """Epochs that must be sealed by now, and are not."""
    deadline = source.schedule if source.deadline is None else source.deadline
    due = source.clock.epoch_of(at - deadline)  # those before it have ended
    sealed = 0 if last_sealed is None else source.clock.epoch_of(last_sealed) + 1
    return max(0, due - sealed)
