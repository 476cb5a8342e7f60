"""Answers of sealed epochs, copied from their drafts to the table that anyone may read with any tool."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from deltalake import DeltaTable

from jobs.context import Context
from jobs.lake import column_list
from jobs.lake.seals import Seal
from jobs.lake.store import Condition, scan
from monitoring_lib.tables import ANSWERS, DRAFTS

_LOOK_BACK = 1024
"""Seals before the newest in which unpublished answers are looked for."""


def publish(context: Context, source: str, monitor: str, since: int) -> None:
    """Publishes what is sealed and not there yet, from an epoch on, also what an earlier run was killed over.

    Repeating is safe.
    """
    lake = context.lake
    known = lake.ledger.revisions(source, monitor)
    recent = {seal.epoch_start for seal in known[-_LOOK_BACK:]}
    seals = [
        seal
        for seal in known
        if seal.counts.get("answers") and (seal.epoch_start >= since or seal.epoch_start in recent)
    ]
    if not seals:
        return
    conditions: list[Condition] = [("monitor", "=", monitor), ("epoch_start", ">=", seals[0].epoch_start)]
    drafts: pa.Table | None = None

    def decide(table: DeltaTable) -> pa.Table | None:
        nonlocal drafts
        there = scan(table, ANSWERS, conditions, ["epoch_start", "revision"])
        published = set(zip(column_list(there, "epoch_start"), column_list(there, "revision"), strict=True))
        waiting = [seal for seal in seals if (seal.epoch_start, seal.revision) not in published]
        if not waiting:
            return None
        if drafts is None:
            drafts = lake.sealed(DRAFTS, waiting, ["drafts"], [("monitor", "=", monitor)])
        return _answers(drafts, waiting)

    lake.centre.append_if(ANSWERS, decide)


def _answers(drafts: pa.Table, seals: Sequence[Seal]) -> pa.Table | None:
    """The drafts of these seals under their revisions, None if there are none."""
    revisions = {(seal.epoch_start, seal.writes["drafts"]): seal.revision for seal in seals}
    named = zip(column_list(drafts, "epoch_start"), column_list(drafts, "write"), strict=True)
    column = pa.array([revisions.get(draft) for draft in named], pa.int64())
    answers = drafts.append_column("revision", column).select(list(ANSWERS.columns))
    waiting = answers.filter(column.is_valid())
    return waiting if waiting.num_rows else None
