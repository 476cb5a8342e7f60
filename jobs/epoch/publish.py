"""Answers of sealed epochs, copied from their drafts to the table that anyone may read with any tool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from deltalake import DeltaTable

from jobs.epoch.checked import check_sealed
from jobs.epoch.context import Context
from jobs.lake.checking import Difference, differences
from jobs.lake.conditions import RowCondition
from jobs.lake.records import Part
from jobs.lake.seals import Seal
from jobs.lake.store import count_rows
from jobs.lake.times import rows_by
from jobs.terminal.console import say
from jobs.terminal.wording import counted
from monitoring_lib.epochs import format_time
from monitoring_lib.tables import ANSWERS, DRAFTS, EPOCHS

_LOOK_BACK = 512
"""Epochs before a run in which unpublished answers are looked for: more than one run seals at a time."""
_MOST_ROWS = 150_000
"""Answers that are copied at a time: reading them takes many times their size in memory."""


def publish(context: Context, source: str, monitor: str, since: int) -> None:
    """Publishes what is sealed and not there yet, from an epoch on, also what an earlier run was killed over.

    Repeating is safe. Epochs are published in order: where the one before is there, those before it are.
    """
    length, ledger = context.config.source(source).epoch, context.lake.ledger
    known = ledger.revisions(source, monitor, since - length)
    before = [seal for seal in known if seal.epoch_start < since]
    first = since
    if not before or _unsound(context, before):
        first = since - _LOOK_BACK * length
        known = ledger.revisions(source, monitor, first)
    for seals in _parts([seal for seal in known if seal.counts.get("answers")]):
        if first < since:
            _withdraw(context, seals)
        _publish(context, seals)


def _unsound(context: Context, seals: Sequence[Seal]) -> list[Difference]:
    """The parts of the published answers that are not those of the seals; also what is not there at all."""
    lake = context.lake
    conditions: list[RowCondition] = [
        ("monitor", "=", seals[0].monitor), ("epoch_start", ">=", seals[0].epoch_start),
        ("epoch_start", "<=", seals[-1].epoch_start),
    ]  # fmt: skip
    rows = lake.centre.read(ANSWERS, conditions)
    expected = {
        Part(seal.writes["drafts"], "drafts", seal.monitor, key.partition(":")[2], seal.epoch_start): digest
        for seal in seals
        for key, digest in seal.digests.items()
        if key.split(":")[0] == "drafts"
    }
    return differences(DRAFTS, rows, expected)


def _withdraw(context: Context, seals: Sequence[Seal]) -> None:
    """Takes back answers of these seals that are not as they were sealed: doubled, or changed."""
    own = {seal.writes["drafts"] for seal in seals}
    damaged = [one.part for one in _unsound(context, seals) if one.rows and one.part.write in own]
    _take_back(context, seals[0].monitor, [(part.epoch_start, part.write) for part in damaged], "were damaged")


def _publish(context: Context, seals: Sequence[Seal]) -> None:
    lake, monitor = context.lake, seals[0].monitor
    conditions: list[RowCondition] = [
        ("monitor", "=", monitor), ("epoch_start", ">=", seals[0].epoch_start),
        ("epoch_start", "<=", seals[-1].epoch_start),
    ]  # fmt: skip
    own = {seal.writes["drafts"] for seal in seals}
    others: list[tuple[int, str]] = []
    drafts: pa.Table | None = None

    def decide(table: DeltaTable) -> pa.Table | None:
        nonlocal drafts, others
        published = count_rows(table, ["epoch_start", "write"], conditions)
        others = [key for key in published if key[1] not in own]
        waiting = [seal for seal in seals if (seal.epoch_start, seal.writes["drafts"]) not in published]
        if others or not waiting:
            return None
        if drafts is None:
            drafts = lake.sealed(DRAFTS, waiting, ["drafts"], [("monitor", "=", monitor)])
            check_sealed(lake, DRAFTS, ["drafts"], waiting, drafts)
        return _answers(drafts, waiting)

    lake.centre.append_if(ANSWERS, decide)
    if others:  # a reader would take them for answers of this chain
        _withdraw_others(context, seals[0], others)
        own |= {write for _, write in others}
        lake.centre.append_if(ANSWERS, decide)


def _withdraw_others(context: Context, seal: Seal, others: Iterable[tuple[int, str]]) -> None:
    """Takes back answers of seals that were lost since, or of a chain of the same monitor under another source.

    What another run has sealed meanwhile stays.
    """
    rows = context.lake.centre.read(EPOCHS, [("monitor", "=", seal.monitor)], ["source", "writes"]).to_pylist()
    source_of = {write: row["source"] for row in rows for output, write in row["writes"] if output == "drafts"}
    by_source: dict[str, list[tuple[int, str]]] = {}
    for epoch_start, write in others:
        by_source.setdefault(source_of.get(write, ""), []).append((epoch_start, write))
    for source, parts in sorted(by_source.items()):
        if source != seal.source:
            why = f"were those of the source {source}" if source else "were of seals that are gone"
            _take_back(context, seal.monitor, parts, why)


def _take_back(context: Context, monitor: str, parts: Sequence[tuple[int, str]], why: str) -> None:
    """Deletes published answers, in one commit, and says so; each part is an epoch with a write."""
    if not parts:
        return
    starts = sorted({epoch_start for epoch_start, _ in parts})
    conditions: list[RowCondition] = [
        ("monitor", "=", monitor), ("epoch_start", ">=", starts[0]), ("epoch_start", "<=", starts[-1]),
        ("write", "in", sorted({write for _, write in parts})),
    ]  # fmt: skip
    context.lake.centre.delete(ANSWERS, conditions)
    more = f" and {counted(len(starts) - 1, 'later one')}" if len(starts) > 1 else ""
    say(f"{monitor}, epoch {format_time(starts[0])}{more}: published answers {why}; published anew")


def _parts(seals: Sequence[Seal]) -> Iterator[list[Seal]]:
    part: list[Seal] = []
    for seal in seals:
        if part and sum(one.counts["answers"] for one in part) + seal.counts["answers"] > _MOST_ROWS:
            yield part
            part = []
        part.append(seal)
    if part:
        yield part


def _answers(drafts: pa.Table, seals: Sequence[Seal]) -> pa.Table | None:
    """The drafts of these seals under their revisions, None if there are none."""
    by_part = rows_by(drafts, "epoch_start", "write")
    parts = []
    for seal in seals:
        rows = by_part.get((seal.epoch_start, seal.writes["drafts"]))
        if rows is not None:
            revision = pa.repeat(pa.scalar(seal.revision, pa.int64()), rows.num_rows)
            parts.append(rows.append_column("revision", revision).select(list(ANSWERS.columns)))
    return pa.concat_tables(parts) if parts else None
