"""`farwatch retire`: a site that has gone for good is no longer waited for."""

from __future__ import annotations

from jobs.epoch.chain import cursor_of
from jobs.epoch.context import Context
from jobs.epoch.cursor import Cursor
from jobs.epoch.decisions import Decision, store_decision
from jobs.terminal.console import say
from jobs.terminal.wording import named, printable
from monitoring_lib.config import Source
from monitoring_lib.epochs import format_time
from monitoring_lib.errors import UsageError
from monitoring_lib.suggest import nearest


def retire(source: str, site: str, reason: str) -> None:
    """Notes it for the first epoch that some monitor has not sealed; asked for again it does nothing."""
    context = Context.from_environment()
    about = context.config.source(source)
    if not reason.strip():
        raise UsageError("--reason is empty; say why, the table of decisions keeps it")
    cursors = _last_cursors(context, about)
    known = sorted({member.site for cursor in cursors for member in cursor.members})
    site = named(site, known)
    if site not in known:
        raise UsageError(f"site '{printable(site)}' is not known to any monitor of {source}{nearest(site, known)}")
    name = f"site '{printable(site)}' of {source}"
    if all(site in cursor.retired for cursor in cursors if site in {member.site for member in cursor.members}):
        say(f"{name} was retired before")
        return
    start = about.clock.start_of(min(cursor.epoch for cursor in cursors) + 1)
    store_decision(context.lake, Decision(source, start, site, "retired", reason))
    say(f"{name} is retired from epoch {format_time(start)} on: it counts as present without events, until it has some")


def _last_cursors(context: Context, source: Source) -> list[Cursor]:
    """What the last sealed epoch of each monitor has left."""
    found = []
    for monitor in context.config.monitors_of(source.name):
        seal = context.lake.ledger.last(source.name, monitor.name)
        if seal is not None:
            found.append(cursor_of(context.lake, seal))
    if not found:
        raise UsageError(f"no epoch of {source.name} is sealed yet, so no site is known")
    return found
