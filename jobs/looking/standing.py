"""How a source and its monitors stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jobs.epoch.chain import earliest, wished
from jobs.epoch.context import Context
from jobs.input import files
from jobs.lake.seals import Seal
from jobs.landing.findings import landing_findings
from jobs.landing.known import all_landings, files_seen, known_of, landings_in_order
from jobs.looking.audited import Audited, audited_of
from jobs.looking.clock import is_live, now, overdue
from jobs.looking.owing import SetAside, set_aside_of, undecided
from jobs.looking.sealed_chain import Landed, chain_of, landed_of
from jobs.looking.staleness import Stale, stale_part
from jobs.looking.storage import require_site_tables
from monitoring_lib.config import Monitor, Source
from monitoring_lib.epochs import format_time
from monitoring_lib.errors import FarwatchError
from monitoring_lib.tables import ALERTS, VALIDATIONS

_MOST_ALERTS = 5


@dataclass(frozen=True)
class Waiting:
    """A file that is there and has not landed as it is; `reason` is what the last try to land it met."""

    path: str
    size: int
    reason: str = ""
    changed: bool = False
    """Whether it had landed before it changed."""


@dataclass(frozen=True)
class MonitorStanding:
    """`last` is the seal of the newest epoch, None if there is none."""

    monitor: Monitor
    last: Seal | None
    epochs: int = 0
    revised: int = 0
    sites: int = 0
    behind: int = 0
    """Epochs with or before the last landed event that have ended and are not sealed."""
    stale: Stale | None = None
    missing: Sequence[dict[str, Any]] = ()
    """The findings that set sites aside in the last epoch."""
    set_aside: Sequence[SetAside] = ()
    """Rows that the last answer's window lacks."""
    audited: Audited | None = None
    overdue: int = 0
    """Epochs that have ended longer ago than the source's deadline allows, and are not sealed."""


@dataclass(frozen=True)
class SourceStanding:
    source: Source
    landings: int
    last_landed: int | None
    to_seal: int | None
    """The end of the last epoch that is over and that has landed events in it or after it."""
    waiting: Sequence[Waiting]
    no_look: str
    """Why the source's files could not be looked at, if they could not."""
    monitors: Sequence[MonitorStanding]
    alerts: Sequence[dict[str, Any]]
    quarantined: int = 0
    """Rows that the last landing of their file set aside."""
    open_alerts: Sequence[dict[str, Any]] = ()

    @property
    def owed(self) -> list[SetAside]:
        """Rows that wait for a decision."""
        return undecided(one.set_aside for one in self.monitors)

    @property
    def next_run(self) -> str:
        """The command that seals what has landed, from the first epoch that some monitor has not sealed; or none."""
        behind = {one.monitor.name: one.behind for one in self.monitors if one.behind}
        if not behind or self.to_seal is None:
            return ""
        start = format_time(self.to_seal - max(behind.values()) * self.source.epoch)
        only = f" --monitors {','.join(behind)}" if len(behind) < len(self.monitors) else ""
        return f"farwatch run --source {self.source.name} --from {start} --to {format_time(self.to_seal)}{only}"


def standing(context: Context, source: Source) -> SourceStanding:
    lake = context.lake
    landed = landed_of(lake, source.name)
    quarantined = 0
    try:
        if len(landed.writes):
            require_site_tables(lake)
        files_landed = landings_in_order(
            source, all_landings(lake, source), lake.ledger.journal(source.name, source.clock)
        )  # fmt: skip
        quarantined = sum(one.quarantined for one in known_of(files_landed).aside.values())
        waiting, no_look = _waiting(context, source, files_seen(files_landed)), ""
    except FarwatchError as error:
        waiting, no_look = [], str(error)
    at, live = now(), is_live(lake, source)
    to_seal = None if landed.last is None else min(landed.last + source.epoch, source.clock.ended_by(at))
    asked = context.config.monitors_of(source.name)
    monitors = [
        replace(one, overdue=overdue(source, one.last.epoch_start if one.last else None, at) if live else 0)
        for one in (_monitor(context, source, each, landed, to_seal) for each in asked)
    ]
    alerts = lake.centre.read(ALERTS, [("source", "=", source.name)])
    alerts = alerts.sort_by([("raised_at", "descending"), ("turn", "descending")])
    return SourceStanding(
        source, len(landed.writes), landed.last, to_seal, waiting, no_look, monitors,
        alerts.slice(0, _MOST_ALERTS).to_pylist(), quarantined, _open(alerts.to_pylist()),
    )  # fmt: skip


def _open(alerts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of each trouble the last alert, if that is no closing; the newest comes first."""
    last: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in alerts:
        last.setdefault((row["monitor"], row["site"], row["kind"], row["about"]), row)
    return [row for row in last.values() if row["state"] != "closed"]


def _monitor(
    context: Context, source: Source, monitor: Monitor, landed: Landed, to_seal: int | None
) -> MonitorStanding:  # fmt: skip
    chain = chain_of(context.lake, source.name, monitor.name)
    first = earliest(source, monitor)
    if len(chain):
        first = int(chain.starts[-1]) + source.epoch
    elif wished(source, monitor) == "first":
        first = landed.first
    behind = 0 if to_seal is None else max(0, (to_seal - first) // source.epoch)
    if not len(chain):
        return MonitorStanding(monitor, None, behind=behind)
    start = int(chain.starts[-1])
    [last] = context.lake.ledger.seals(source.name, monitor.name, start, start + 1)
    return MonitorStanding(
        monitor, last, len(chain), chain.revised, len(chain.sites), behind,
        stale_part(source, monitor.name, chain, landed, earliest(source, monitor)), _set_aside(context, last),
        set_aside_of(context.lake, source, last), audited_of(context.lake, source.name, monitor.name, chain),
    )  # fmt: skip


def _set_aside(context: Context, seal: Seal) -> list[dict[str, Any]]:
    """Why each missing site was set aside; a site without a finding has been so for longer."""
    if not seal.missing_sites:
        return []
    found = context.lake.sealed(VALIDATIONS, [seal], ["gate"], [("source", "=", seal.source)]).to_pylist()
    why = {row["site"]: row for row in found if not row["success"] and row["severity"] == "critical"}
    nothing = {"expectation": "", "observed": "", "detail": ""}
    return [{**nothing, **why.get(site, {}), "site": site} for site in seal.missing_sites]


def _waiting(context: Context, source: Source, seen: Mapping[str, tuple[int, int]]) -> list[Waiting]:
    """Files that are not as they last landed, by size and time of change."""
    found = [
        file for file in files.find(source.path, context.home)
        if seen.get(file.path) != (file.size, file.modified)
    ]  # fmt: skip
    if not found:
        return []
    reasons = {row["observed"]: row["detail"] for row in landing_findings(context.lake, source)}
    return [Waiting(file.path, file.size, reasons.get(file.path, ""), file.path in seen) for file in found]
