"""How a range of epochs is cut: summarised far ahead by one Spark job, then worked through and committed in chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from jobs.epoch.chain import first_unsealed
from jobs.epoch.context import Context
from jobs.epoch.handover import Handover, Local
from jobs.lake.records import recorded
from jobs.verbs.summarise import write_synopses

AHEAD = 512
"""Epochs that one Spark job summarises: so many that its start does not count, so few that their records are small."""
MOST_EPOCHS = 128
MOST_BYTES = 64_000_000
"""Epochs, and bytes of their synopses, that are committed together: what a kill -9 costs, and what is in memory."""


@dataclass(frozen=True)
class EpochChunk:
    """The epochs of ``[start, end)``; `writes` names their synopses where they are made already."""

    start: int
    end: int
    writes: Mapping[str, str] = field(default_factory=dict)
    times: Mapping[str, int] = field(default_factory=dict)
    """Microseconds that were spent ahead, for the first chunk to report."""


def chunks_of(context: Context, handover: Handover) -> Iterator[EpochChunk]:
    """The range in chunks, in order. The next Spark job starts when all chunks of the one before are done."""
    length = context.config.source(handover.source).epoch
    if handover.end - handover.start == length:
        yield EpochChunk(handover.start, handover.end)
        return
    for start in range(handover.start, handover.end, AHEAD * length):
        yield from _ahead(context, handover, start, min(handover.end, start + AHEAD * length), length)


def _ahead(context: Context, handover: Handover, start: int, end: int, length: int) -> Iterator[EpochChunk]:
    unsealed = _unsealed(context, handover, start, end)
    if not unsealed:
        yield EpochChunk(start, end)
        return
    part = replace(
        handover, start=start, end=end, monitors=unsealed, writes={}, failed={}, misused=[], times={}, local=Local()
    )  # fmt: skip
    with part.timed("summarise"):
        write_synopses(context, part)
    first = min(unsealed.values())
    sizes = dict.fromkeys(range(first, end, length), 0)
    for made, record in recorded(context.lake, part.writes.values(), part.span).items():
        sizes[made.epoch_start] += record["bytes"]
    times = part.times
    for one, last in _cut(sizes, length):
        yield EpochChunk(one, last, part.writes, times)
        times = {}


def _unsealed(context: Context, handover: Handover, start: int, end: int) -> dict[str, int]:
    """By monitor of the run, the first of these epochs that it has to seal."""
    source = context.config.source(handover.source)
    found = {}
    for monitor in context.config.monitors_of(source.name):
        if not handover.only or monitor.name in handover.only:
            first = start if handover.revise else first_unsealed(context, source, monitor, start, end)
            if first is not None:
                found[monitor.name] = first
    return found


def _cut(sizes: Mapping[int, int], length: int) -> Iterator[tuple[int, int]]:
    """Epochs in order as first start and last end of each chunk."""
    first, many, weight = -1, 0, 0
    for start, size in sizes.items():
        if many and (many == MOST_EPOCHS or weight + size > MOST_BYTES):
            yield first, start
            many, weight = 0, 0
        if not many:
            first = start
        many, weight = many + 1, weight + size
    if many:
        yield first, max(sizes) + length
