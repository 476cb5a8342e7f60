"""The driver: all eight steps over a range of epochs, in one process, committed in chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from jobs.command.chunks import EpochChunk, chunks_of
from jobs.command.late import replays
from jobs.epoch.context import Context
from jobs.epoch.handover import Handover, Local
from jobs.terminal.console import say
from jobs.verbs.alert import alert
from jobs.verbs.gate import gate
from jobs.verbs.land import land
from jobs.verbs.observe import observe
from jobs.verbs.resolve import resolve
from jobs.verbs.seal import seal
from jobs.verbs.summarise import summarise
from jobs.verbs.validate import validate
from monitoring_lib.epochs import format_time
from monitoring_lib.errors import FarwatchError

STEPS: dict[str, Callable[[Context, Handover], None]] = {
    step.__name__: step for step in (land, gate, summarise, observe, resolve, validate, seal, alert)
}


def run(context: Context, handover: Handover, done: Callable[[EpochChunk], None] = lambda chunk: None) -> Handover:
    """Runs the range; what a chunk has sealed stays sealed whatever happens to the next. `done` hears of each chunk."""
    source = context.config.source(handover.source)
    first, *middle, tell = STEPS.values()
    try:
        first(context, handover)
    except Exception as error:
        _tell_after(error, lambda: tell(context, handover))
        raise
    replay_late(context, handover)
    last = handover
    for chunk in _told(chunks_of(context, handover), lambda: tell(context, handover)):
        last = replace(
            handover, start=chunk.start, end=chunk.end, monitors={}, plans={}, writes=dict(chunk.writes), failed={},
            misused=[], sealed=[], to_fill_in={}, times={**handover.times, **chunk.times}, local=Local(),
        )  # fmt: skip
        try:
            for step in middle:
                step(context, last)
        except Exception as error:
            told = last
            _tell_after(error, lambda: tell(context, told))  # noqa: B023 (called at once)
            raise
        tell(context, last)
        took = ", ".join(f"{step} {microseconds / 1e6:.1f} s" for step, microseconds in last.times.items())
        say(f"{source.name}: done up to {format_time(chunk.end)} ({took})")
        done(chunk)
    return last


def replay_late(context: Context, handover: Handover) -> None:
    """Revises what follows from less than has landed, where the source asks for it, before the run goes on."""
    for late in replays(context, handover):
        run(context, late)


def _told(chunks: Iterator[EpochChunk], tell: Callable[[], None]) -> Iterator[EpochChunk]:
    """The chunks; where the next cannot be made, that is alerted about."""
    try:
        yield from chunks
    except Exception as error:
        _tell_after(error, tell)
        raise


def _tell_after(error: Exception, tell: Callable[[], None]) -> None:
    """Alerts about a run that failed. Where that fails too (a full disk), the run's own error is the one to be told."""
    try:
        tell()
    except FarwatchError as later:
        if str(later) != str(error):
            say(f"the alert could not be stored: {later}", style="red")
