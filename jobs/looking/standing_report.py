"""The standing of all sources and monitors as a person reads it, and as a machine does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jobs.epoch.reasons import by_reason
from jobs.looking import printing
from jobs.looking.alert_words import whom
from jobs.looking.standing import MonitorStanding, SourceStanding, Waiting
from jobs.terminal.wording import MOST_NAMES, counted, printable, size
from monitoring_lib.epochs import format_time

_MOST_FILES = 5
_MOST_ALERTS = 5
_MOST_OWED = 20
_LONGEST_TEXT = 300
_OF_ALERT = ("raised_at", "state", "kind", "severity", "monitor", "site", "epoch_start", "subject", "detail")


def show(sources: Sequence[SourceStanding], as_json: bool) -> None:
    if as_json:
        printing.print_json({"sources": [to_plain(one) for one in sources]})
        return
    if not sources:
        printing.line("the configuration has no source; write one in conf/base/sources")
    for at, one in enumerate(sources):
        if at:
            printing.line("")
        _show_source(one)


def _show_source(one: SourceStanding) -> None:
    from rich.text import Text

    printing.show(Text.assemble((one.source.name, "bold"), f": {_landed(one)}"))
    for text in _waiting_lines(one):
        printing.line(f"  {text}", "yellow")
    if one.quarantined:
        again = f"`farwatch land --source {one.source.name} --again` reads them anew"
        printing.line(f"  {counted(one.quarantined, 'row')} in quarantine; {again}", "yellow")
    if one.monitors:
        titles = ("monitor", "last sealed", "epochs", "behind", "revised", "sites", "")
        table = printing.table(*titles, right=("epochs", "behind", "revised", "sites"))
        for monitor in one.monitors:
            table.add_row(*map(Text, _cells(monitor)))
        printing.show(table)
    for noted in (_stale, _overdue, _missing):
        notes = {monitor.monitor.name: note for monitor in one.monitors if (note := noted(monitor))}
        for names, note in by_reason(notes).items():
            printing.line(f"{', '.join(names)}: {note}", "yellow")
    for monitor in one.monitors:
        if monitor.audited is not None:
            style = "dim" if monitor.audited.kept == monitor.audited.epochs else "red"
            printing.line(f"{monitor.monitor.name}: {monitor.audited.text}", style)
    for each in one.owed[:_MOST_OWED]:
        printing.line(each.text, "yellow")
    if len(one.owed) > _MOST_OWED:
        printing.line(f"… and {len(one.owed) - _MOST_OWED:,} more are owed; --json gives all", "yellow")
    if one.next_run:
        printing.line(f"`{one.next_run}` seals what has landed")
    for alert in one.open_alerts[:_MOST_ALERTS]:
        printing.line(f"alert of {printing.plain(alert['raised_at'])}, {_alert(alert)}", "dim")
    if len(one.open_alerts) > _MOST_ALERTS:
        printing.line(f"… and {len(one.open_alerts) - _MOST_ALERTS:,} more alerts are open; --json gives all", "dim")


def _landed(one: SourceStanding) -> str:
    if one.last_landed is None:
        return "no event has landed yet" + (f" in {counted(one.landings, 'landing')}" if one.landings else "")
    return f"events up to epoch {format_time(one.last_landed)}, {counted(one.landings, 'landing')}"


def _waiting_lines(one: SourceStanding) -> Iterator[str]:
    if one.no_look:
        yield f"its files cannot be looked at: {printable(one.no_look, _LONGEST_TEXT)}"
    if not one.waiting:
        return
    yield f"{counted(len(one.waiting), 'file')} of {size(sum(file.size for file in one.waiting))} to land:"
    refused_first = sorted(one.waiting, key=lambda file: not file.reason)
    for file in refused_first[:_MOST_FILES]:
        yield f"  {_file(file)}"
    if len(one.waiting) > _MOST_FILES:
        yield f"  and {len(one.waiting) - _MOST_FILES:,} more"


def _file(file: Waiting) -> str:
    why = "changed since it landed" if file.changed else "new"
    if file.reason:
        why = f"refused: {printable(file.reason, _LONGEST_TEXT)}"
    return f"{printable(file.path, 120)}  {size(file.size)}  {why}"


def _cells(one: MonitorStanding) -> list[str]:
    if one.last is None:
        return [one.monitor.name, "none", "0", str(one.behind), "0", "0", "nothing sealed yet"]
    missing = len(one.last.missing_sites)
    known = f"{one.sites - missing:,} of {one.sites:,}"
    state = "stale" if one.stale else "behind" if one.behind else "overdue" if one.overdue else "up to date"
    return [
        one.monitor.name, format_time(one.last.epoch_start), f"{one.epochs:,}", f"{one.behind:,}",
        f"{one.revised:,}", known, state,
    ]  # fmt: skip


def _stale(one: MonitorStanding) -> str:
    return one.stale.text if one.stale is not None else ""


def _overdue(one: MonitorStanding) -> str:
    return f"{counted(one.overdue, 'epoch')} behind the clock" if one.overdue else ""


def _missing(one: MonitorStanding) -> str:
    if not one.missing:
        return ""
    shown = ", ".join(map(_set_aside, one.missing[:MOST_NAMES]))
    more = f" and {len(one.missing) - MOST_NAMES:,} more" if len(one.missing) > MOST_NAMES else ""
    return f"missing in the last epoch: {shown}{more}"


def _set_aside(row: dict[str, Any]) -> str:
    """A site and what it failed."""
    why = "; ".join(filter(None, [row["observed"], row["detail"]]))
    failed = f" ({row['expectation']} does not hold: {printable(why, _LONGEST_TEXT)})" if row["expectation"] else ""
    return f"'{printable(row['site'])}'{failed}"


def _alert(alert: dict[str, Any]) -> str:
    told = f"{alert['subject']}. {alert['detail']}"
    return f"{alert['state']}, {alert['severity']}: {whom(alert)}: {printable(told, _LONGEST_TEXT)}"


def to_plain(one: SourceStanding) -> dict[str, Any]:
    return {
        "source": one.source.name, "landings": one.landings,
        "last_landed_epoch": None if one.last_landed is None else format_time(one.last_landed),
        "waiting": [
            {"path": file.path, "bytes": file.size, "reason": file.reason, "changed": file.changed}
            for file in one.waiting
        ],
        "waiting_unknown": one.no_look, "quarantined": one.quarantined,
        "owed": [each.to_plain() for each in one.owed],
        "monitors": [_plain_monitor(monitor) for monitor in one.monitors],
        "alerts": [
            {name: alert[name] for name in _OF_ALERT}
            for alert in one.alerts
        ],
        "open_alerts": [{name: alert[name] for name in _OF_ALERT} for alert in one.open_alerts],
    }  # fmt: skip


def _plain_monitor(one: MonitorStanding) -> dict[str, Any]:
    return {
        "monitor": one.monitor.name,
        "last_sealed_epoch": None if one.last is None else format_time(one.last.epoch_start),
        "sealed_at": None if one.last is None else format_time(one.last.sealed_at),
        "epochs": one.epochs, "epochs_behind": one.behind, "epochs_overdue": one.overdue,
        "revised_epochs": one.revised, "sites": one.sites,
        "stale": None if one.stale is None else {
            "from": format_time(one.stale.first), "why": one.stale.why, "command": one.stale.command
        },
        "audited": None if one.audited is None else one.audited.to_plain(),
        "missing_sites": [
            {name: row[name] for name in ("site", "expectation", "observed", "detail")} for row in one.missing
        ],
    }  # fmt: skip
