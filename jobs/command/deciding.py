"""`farwatch admit` and `farwatch reject`: what becomes of a site's epoch that was set aside."""

from __future__ import annotations

from jobs.command.run import run
from jobs.epoch.chain import cursor_of
from jobs.epoch.context import Context
from jobs.epoch.decisions import Decision, Ruling, decisions_of, store_decision
from jobs.epoch.handover import Handover
from jobs.lake.seals import Seal
from jobs.terminal.console import say
from jobs.terminal.wording import named, printable
from monitoring_lib.config import Source
from monitoring_lib.epochs import format_time, parse_time
from monitoring_lib.errors import UsageError


def decide(source: str, site: str, epoch: str, reason: str, verdict: Ruling) -> None:
    """Notes the decision, then replays every chain that it changes, from that epoch on.

    Asked for again it goes on where it was cut off, and does nothing once all chains follow from it.
    """
    context = Context.from_environment()
    about = context.config.source(source)
    if not reason.strip():
        raise UsageError("--reason is empty; say why, the seals keep it")
    start = _start(about, epoch)
    decided = decisions_of(context.lake, source, [("epoch_start", "=", start)])
    site = named(site, _missing(context, about, start) | {one.site for one in decided})
    decision = Decision(source, start, site, verdict, reason)
    ends = _to_replay(context, about, decision)
    known = next((one for one in decided if one.site == site), None)
    if not ends:
        if known is not None and known.verdict == verdict:
            say(f"{_what(decision)} was {verdict} before; no chain has to be replayed")
            return
        raise UsageError(
            f"nothing of site '{printable(site)}' is owed in epoch {format_time(decision.epoch_start)} of {source};"
            " `farwatch status` lists what is"
        )
    if known is None or known.verdict != verdict:
        store_decision(context.lake, decision)
    for end, monitors in sorted(ends.items()):
        revise = f"{_what(decision)} {verdict}: {reason}"
        run(context, Handover.begin(source, about.clock, decision.epoch_start, end, monitors, revise))
    say(f"{_what(decision)}: {verdict}")


def _what(decision: Decision) -> str:
    return f"site '{printable(decision.site)}' of epoch {format_time(decision.epoch_start)}"


def _start(source: Source, epoch: str) -> int:
    try:
        moment = parse_time(epoch)
    except ValueError as error:
        raise UsageError(f"--epoch: {error}") from error
    return source.clock.start_of(source.clock.epoch_of(moment))


def _missing(context: Context, source: Source, start: int) -> set[str]:
    """All sites that some monitor lacks in an epoch."""
    monitors = context.config.monitors_of(source.name)
    seals = [seal for one in monitors for seal in context.lake.ledger.seals(source.name, one.name, start, start + 1)]
    return {site for seal in seals for site in seal.missing_sites}


def _to_replay(context: Context, source: Source, decision: Decision) -> dict[int, list[str]]:
    """The monitors whose seal of that epoch does not follow from the decision, by where their chains end."""
    found: dict[int, list[str]] = {}
    for monitor in context.config.monitors_of(source.name):
        seals = context.lake.ledger.seals(source.name, monitor.name, decision.epoch_start)
        if seals and seals[0].epoch_start == decision.epoch_start and _changes(context, source, seals[0], decision):
            found.setdefault(seals[-1].epoch_start + source.epoch, []).append(monitor.name)
    return found


def _changes(context: Context, source: Source, seal: Seal, decision: Decision) -> bool:
    if decision.site not in seal.missing_sites:
        return False
    number = source.clock.epoch_of(seal.epoch_start)
    owed = [one for one in cursor_of(context.lake, seal).owed if (one.epoch, one.site) == (number, decision.site)]
    return bool(owed) and (decision.verdict == "admitted" or not owed[0].rejected)
