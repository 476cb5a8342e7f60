"""Rows of sealed epochs, where the source says `revise: auto`: their chains are replayed before a run goes on."""

from __future__ import annotations

from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from jobs.epoch.replaying import end_of_chain
from jobs.looking.recently_stale import recently_stale
from jobs.terminal.console import say
from monitoring_lib.config import Source
from monitoring_lib.epochs import format_time


def replays(context: Context, handover: Handover) -> list[Handover]:
    """For each stretch of epochs that follow from less than has landed, the run that revises it, to the chain's end."""
    source = context.config.source(handover.source)
    if source.late.revise != "auto" or handover.revise:
        return []
    wanted: dict[tuple[int, int, str], list[str]] = {}
    for name, (first, end, why) in _stale(context, source, handover.start).items():
        wanted.setdefault((first, end, why), []).append(name)
    found = []
    for (first, end, why), monitors in sorted(wanted.items()):
        say(f"{source.name}: {', '.join(monitors)} from epoch {format_time(first)} on: {why}; replayed first")
        found.append(Handover.begin(source.name, source.clock, first, end, monitors, f"late rows: {why}"))
    return found


def _stale(context: Context, source: Source, start: int) -> dict[str, tuple[int, int, str]]:
    """By monitor: its first stale epoch, where its chain ends, and why."""
    lake, found = context.lake, {}
    for monitor in context.config.monitors_of(source.name):
        stale = recently_stale(lake, source, monitor, start)
        if stale is not None:
            end = end_of_chain(lake.ledger, source.name, monitor.name, stale.first, source.epoch)
            found[monitor.name] = stale.first, end, stale.why
    return found
