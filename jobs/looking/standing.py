"""How a source and its monitors stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from jobs import files
from jobs.context import Context
from jobs.lake import column_list
from jobs.lake.seals import Seal
from jobs.looking.marks import Landed, landed_of, marks_of
from jobs.looking.staleness import Stale, stale_part
from jobs.looking.storage import check_sites
from monitoring_lib.config import Monitor, Source
from monitoring_lib.errors import FarwatchError
from monitoring_lib.tables import ALERTS, LANDINGS, VALIDATIONS

_MOST_ALERTS = 5


@dataclass(frozen=True)
class Waiting:
    """A file that is there and has not landed; `reason` is what the last try to land it met."""

    path: str
    size: int
    reason: str = ""


@dataclass(frozen=True)
class MonitorStanding:
    """`last` is the seal of the newest epoch, None if there is none."""

    monitor: Monitor
    last: Seal | None
    epochs: int = 0
    revised: int = 0
    sites: int = 0
    behind: int = 0
    """Epochs with or before the last landed event that are not sealed."""
    stale: Stale | None = None
    missing: Sequence[dict[str, Any]] = ()
    """The findings that set sites aside in the last epoch."""


@dataclass(frozen=True)
class SourceStanding:
    source: Source
    landings: int
    last_landed: int | None
    waiting: Sequence[Waiting]
    no_look: str
    """Why the source's files could not be looked at, if they could not."""
    monitors: Sequence[MonitorStanding]
    alerts: Sequence[dict[str, Any]]

    @property
    def next_run(self) -> tuple[int, int] | None:
        """The epochs that landed events wait in, from the first that some monitor has not sealed."""
        behind = [one.behind for one in self.monitors if one.behind]
        if not behind or self.last_landed is None:
            return None
        end = self.last_landed + self.source.epoch
        return end - max(behind) * self.source.epoch, end


def standing(context: Context, source: Source) -> SourceStanding:
    lake = context.lake
    landed = landed_of(lake, source.name)
    try:
        waiting, no_look = _waiting(context, source, landed), ""
    except FarwatchError as error:
        waiting, no_look = [], str(error)
    monitors = [_monitor(context, source, one, landed) for one in context.config.monitors_of(source.name)]
    alerts = lake.centre.read(ALERTS, [("source", "=", source.name)]).sort_by([("raised_at", "descending")])
    return SourceStanding(
        source, len(landed.writes), landed.last, waiting, no_look, monitors, alerts.slice(0, _MOST_ALERTS).to_pylist()
    )  # fmt: skip


def _monitor(context: Context, source: Source, monitor: Monitor, landed: Landed) -> MonitorStanding:
    marks = marks_of(context.lake, source.name, monitor.name)
    first = int(marks.starts[-1]) + source.epoch if len(marks) else source.origin
    behind = 0 if landed.last is None else max(0, (landed.last + source.epoch - first) // source.epoch)
    if not len(marks):
        return MonitorStanding(monitor, None, behind=behind)
    start = int(marks.starts[-1])
    [last] = context.lake.ledger.seals(source.name, monitor.name, start, start + 1)
    return MonitorStanding(
        monitor, last, len(marks), marks.revised, len(marks.sites), behind,
        stale_part(source, monitor.name, marks, landed), _set_aside(context, last),
    )  # fmt: skip


def _set_aside(context: Context, seal: Seal) -> list[dict[str, Any]]:
    """Why each missing site was set aside; a site without a finding has been so for longer."""
    if not seal.missing_sites:
        return []
    found = context.lake.sealed(VALIDATIONS, [seal], ["gate"], [("source", "=", seal.source)]).to_pylist()
    why = {row["site"]: row for row in found if not row["success"] and row["severity"] == "critical"}
    nothing = {"expectation": "", "observed": "", "detail": ""}
    return [{**nothing, **why.get(site, {}), "site": site} for site in seal.missing_sites]


def _waiting(context: Context, source: Source, landed: Landed) -> list[Waiting]:
    """Files that no sealed landing knows by path, size and time of change."""
    lake = context.lake
    if len(landed.writes):
        check_sites(lake)
    known = lake.sites.read(LANDINGS, [("source", "=", source.name)], ["path", "bytes", "modified", "write"])
    known = known.filter(pc.is_in(known["write"], value_set=landed.writes))
    seen = set(zip(*(column_list(known, name) for name in ("path", "bytes", "modified")), strict=True))
    found = [
        file for file in files.find(source.path, context.home)
        if (file.path, file.size, file.modified) not in seen
    ]  # fmt: skip
    if not found:
        return []
    tried = lake.centre.read(VALIDATIONS, [("source", "=", source.name), ("step", "=", "land")])
    reasons = {row["observed"]: row["detail"] for row in tried.sort_by("checked_at").to_pylist()}
    return [Waiting(file.path, file.size, reasons.get(file.path, "")) for file in found]
