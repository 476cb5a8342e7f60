"""`farwatch backfill`: a long range by the driver that runs every range, with an estimate and with progress."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import pyarrow.compute as pc

from jobs.command.chunks import MOST_EPOCHS, EpochChunk
from jobs.command.run import run
from jobs.epoch.chain import first_unsealed
from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from jobs.lake.conditions import RowCondition
from jobs.looking.printing import line, print_json
from jobs.looking.standing import standing
from jobs.terminal.console import say
from jobs.terminal.wording import counted, number, size
from monitoring_lib.config import Monitor, Source
from monitoring_lib.epochs import format_time
from monitoring_lib.tables import WRITES

_A_CHUNK, _AN_EPOCH, _A_MILLION_ROWS = 25.0, 0.07, 12.0
"""Seconds on two cores: Spark's jobs of a chunk, one monitor's one epoch, landing and summarising a million rows."""
_BYTES_A_ROW = 40
"""Stored for a row where no epoch is sealed yet to learn from."""
_LEARNED_FROM = 32
"""Sealed epochs whose size is looked at."""


@dataclass(frozen=True)
class Estimate:
    """What a backfill will do. Rows are those that have landed; files that wait are landed first."""

    source: str
    first: str
    end: str
    epochs: int
    sealed: int
    rows: int
    waiting_files: int
    waiting_bytes: int
    minutes: float
    bytes: int


def backfill(context: Context, handover: Handover, dry_run: bool, as_json: bool) -> None:
    """Goes on behind the last sealed chunk, whatever ended the run before."""
    found = estimate(context, handover)
    if dry_run:
        if as_json:
            print_json(asdict(found))
        else:
            _print(found)
        return
    source = context.config.source(handover.source)
    if found.sealed:
        say(
            f"{source.name}: {counted(found.sealed, 'epoch')} of {number(found.epochs)} are sealed already;"
            " continuing after them"
        )
    begun, first = time.monotonic(), handover.start + found.sealed * source.epoch

    def done(chunk: EpochChunk) -> None:
        so_far, left = (chunk.end - first) // source.epoch, (handover.end - chunk.end) // source.epoch
        pace = (time.monotonic() - begun) / max(so_far, 1)
        say(
            f"{source.name}: {number(found.epochs - left)} of {counted(found.epochs, 'epoch')}"
            + (f", about {left * pace / 60:.1f} minutes to go" if left else f", {pace:.2f} s an epoch")
        )

    last = run(context, handover, done)
    if as_json:
        print(last.to_json())


def estimate(context: Context, handover: Handover) -> Estimate:
    source = context.config.source(handover.source)
    monitors = [
        one for one in context.config.monitors_of(source.name) if not handover.only or one.name in handover.only
    ]
    first = _first(context, source, monitors, handover)
    left = (handover.end - first) // source.epoch
    landed = context.lake.ledger.landed(source.name, first, handover.end)
    rows = sum(seal.counts.get("landed", 0) for seal in landed)
    waiting = standing(context, source).waiting
    seconds = -(-left // MOST_EPOCHS) * _A_CHUNK + left * len(monitors) * _AN_EPOCH + rows / 1e6 * _A_MILLION_ROWS
    return Estimate(
        source.name, format_time(first), format_time(handover.end), (handover.end - handover.start) // source.epoch,
        (first - handover.start) // source.epoch, rows, len(waiting), sum(file.size for file in waiting),
        round(seconds / 60, 1) if left else 0.0, _bytes(context, source, first, left, rows),
    )  # fmt: skip


def _first(context: Context, source: Source, monitors: Sequence[Monitor], handover: Handover) -> int:
    """Where the first epoch starts that is not sealed by all of the monitors; the range's end if there is none."""
    if handover.revise:
        return handover.start
    found = [first_unsealed(context, source, monitor, handover.start, handover.end) for monitor in monitors]
    return min((start for start in found if start is not None), default=handover.end)


def _bytes(context: Context, source: Source, first: int, left: int, rows: int) -> int:
    """What will be stored, by the last sealed epochs, or by the rows where there are none."""
    span: list[RowCondition] = [
        ("source", "=", source.name), ("epoch_start", ">=", first - _LEARNED_FROM * source.epoch),
        ("epoch_start", "<", first),
    ]  # fmt: skip
    written = context.lake.centre.read(WRITES, span, ["bytes", "epoch_start"])
    if not written.num_rows:
        return rows * _BYTES_A_ROW
    return int(pc.sum(written["bytes"]).as_py()) // len(pc.unique(written["epoch_start"])) * left


def _print(found: Estimate) -> None:
    line(
        f"{found.source}: {counted(found.epochs, 'epoch')} up to {found.end}, {number(found.sealed)} of them sealed;"
        f" goes on at {found.first}"
    )
    line(
        f"{counted(found.rows, 'row')} landed there so far; about {number(found.minutes)} minutes,"
        f" and {size(found.bytes)} in the tables"
    )
    if found.waiting_files:
        line(
            f"{counted(found.waiting_files, 'file')} ({size(found.waiting_bytes)}) of the source to be landed first;"
            " the rows in them are not counted here"
        )
