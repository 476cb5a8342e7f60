"""`farwatch status --check`: one line for each problem, for cron, Nagios or a probe."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.looking.standing import MonitorStanding, SourceStanding
from jobs.terminal.wording import counted, listed, printable
from monitoring_lib.epochs import format_time

_OF_ALERTS = ("quarantine", "rule", "traffic", "quality")
"""Kinds of open alerts that nothing else of the standing tells."""
_LONGEST = 300


def problems(one: SourceStanding) -> Iterator[str]:
    """What needs a person, of a source and its monitors."""
    name = one.source.name
    if one.no_look:
        yield f"{name}: its files cannot be looked at: {printable(one.no_look, _LONGEST)}"
    told = {file.path for file in one.waiting if file.reason}
    for file in one.waiting:
        if file.reason:
            yield f"{name}: {printable(file.path, 120)} is refused: {printable(file.reason, _LONGEST)}"
    for each in one.owed:
        yield f"{name}: {each.text}"
    for monitor in one.monitors:
        yield from (f"{monitor.monitor.name}: {text}" for text in _of_monitor(one, monitor))
    for alert in one.open_alerts:
        if alert["kind"] in _OF_ALERTS or (alert["kind"] == "file refused" and alert["about"] not in told):
            whose = alert["monitor"] or name
            yield f"{whose}: {alert['kind']}: {printable(alert['subject'], _LONGEST)}"


def _of_monitor(one: SourceStanding, monitor: MonitorStanding) -> Iterator[str]:
    if monitor.overdue:
        last = "none is sealed" if monitor.last is None else f"sealed up to {format_time(monitor.last.epoch_start)}"
        yield f"{counted(monitor.overdue, 'epoch')} behind the clock: {last}; is the source's schedule running?"
    if monitor.behind:
        yield f"{counted(monitor.behind, 'epoch')} behind what has landed; `{one.next_run}` seals them"
    if monitor.stale is not None:
        yield monitor.stale.text
    if monitor.last is not None and monitor.last.missing_sites:
        missing = listed(monitor.last.missing_sites)
        yield f"{counted(len(monitor.last.missing_sites), 'site')} missing in the last epoch: {missing}"
    if monitor.audited is not None and monitor.audited.kept < monitor.audited.epochs:
        yield f"{monitor.audited.text}; `farwatch audit {one.source.name} --monitors {monitor.monitor.name}` says why"
