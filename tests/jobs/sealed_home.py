"""A deployment with sealed epochs, made without a JVM: the real steps run, over tables that delta-rs writes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import yaml
from deltalake import write_deltalake
from deltalake.exceptions import DeltaError

from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from jobs.lake import new_write
from jobs.lake.site_tables import SiteTables
from jobs.lake.trouble import trouble
from jobs.quality.findings import Finding
from jobs.verbs.gate import gate
from jobs.verbs.observe import observe
from jobs.verbs.resolve import resolve
from jobs.verbs.seal import seal as seal_epochs
from jobs.verbs.validate import validate
from monitoring_lib.config import Source, load
from monitoring_lib.epochs import to_datetime
from monitoring_lib.tables import EVENTS, LANDINGS, Table
from tests.commands import farwatch
from tests.jobs.sealed_run import Event, counted, filled, statistics, summarise

SOURCE = {
    "name": "shop", "format": "csv", "path": "data/*.csv", "epoch": "1h", "origin": "2020-01-01",
    "columns": {"time": "time", "site": "site", "item": "item", "value": "value"},
}  # fmt: skip
BUSIEST = {
    "name": "busiest", "question": "top-k", "source": "shop", "k": 2, "tolerance": 4, "method": "caching",
    "title": "Busiest items",
}  # fmt: skip


class DirectSiteTables(SiteTables):
    """The sites' tables, written by delta-rs where a deployment has Spark."""

    def append_rows(self, table: Table, rows: pa.Table) -> None:
        partition = [table.partition] if table.partition else None
        location = self.store.location(table)
        Path(location).mkdir(parents=True, exist_ok=True)
        try:
            write_deltalake(location, rows, mode="append", partition_by=partition)
        except DeltaError as error:
            raise trouble(location, "written", error) from error
        self.store.committed(table.name)


@dataclass
class SealedHome:
    """`home` holds conf, data and var. Events land, then epochs are run over all that has landed."""

    home: Path
    monitors: Iterable[Mapping[str, Any]] = (BUSIEST,)
    source: Mapping[str, Any] = field(default_factory=lambda: SOURCE)
    events: list[Event] = field(default_factory=list)
    """All that has landed."""
    landing: int = 0
    between: Callable[[Handover], Handover] = lambda handover: handover
    """What a hand-over goes through from one step to the next."""

    def __post_init__(self) -> None:
        self.configure()
        (self.home / "data").mkdir(parents=True, exist_ok=True)

    @property
    def name(self) -> str:
        """Of the source."""
        return str(self.source["name"])

    def configure(self) -> None:
        files = {"farwatch": {"sites_run": "process"}, f"sources/{self.name}": self.source}
        files |= {f"monitors/{monitor['name']}": monitor for monitor in self.monitors}
        for name, content in files.items():
            path = self.home / "conf" / "base" / f"{name}.yml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(yaml.safe_dump(dict(content)), encoding="utf-8")

    def context(self) -> Context:
        context = Context(load(self.home / "conf"), self.home)
        context.lake.site_tables = DirectSiteTables(context.lake.sites, lambda: context.session)
        return context

    def command(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """`farwatch` in a process of its own."""
        return farwatch(*arguments, environment=os.environ | self.environment | environment)

    @property
    def environment(self) -> dict[str, str]:
        return {"FARWATCH_HOME": str(self.home), "FARWATCH_CONF": str(self.home / "conf"), "FARWATCH_ENV": "local"}

    def land(self, events: Iterable[Event], path: str = "data/file.csv") -> str:
        """One landing; its write."""
        context, write = self.context(), new_write("land")
        source, new = context.config.source(self.name), list(events)
        context.lake.append(
            EVENTS, [_event_row(source, hour, site, item, at, write) for at, (hour, site, item) in enumerate(new)]
        )
        context.lake.append(LANDINGS, [self._landing_row(path, len(new), write)])
        counts: dict[int, dict[str, int]] = {}
        for hour, _, _ in new:
            counts.setdefault(source.clock.start_of(hour), {"landed": 0})["landed"] += 1
        context.lake.ledger.seal_landing(self.name, source.clock, self.landing, write, counts)
        self.landing += 1
        self.events += new
        return write

    def _landing_row(self, path: str, rows: int, write: str) -> dict[str, Any]:
        place = self.home / path
        size = place.stat().st_size if place.exists() else 0
        modified = place.stat().st_mtime_ns // 1000 if place.exists() else 0
        return {
            "source": self.name, "path": str(place), "digest": write, "bytes": size, "modified": to_datetime(modified),
            "how": "new", "begins": "", "unpacked": size, "records": rows, "read": rows, "landed": rows,
            "quarantined": 0, "late": 0, "epochs": [], "note": "",
            "landed_at": datetime(2020, 1, 2, tzinfo=UTC), "write": write,
        }  # fmt: skip

    def run(
        self, first: int, last: int, missing: Mapping[str, str] | None = None, revise: str = "",
        only: Iterable[str] | None = None, seal: Iterable[str] | None = None, published: bool = True,
    ) -> None:  # fmt: skip
        """Epochs `first` to `last`, the last one not included, over all that has landed.

        `missing` names sites with the reason. Of the monitors `only` are run, and of those `seal` are sealed; all by
        default. What is not `published` was killed right after the seal.
        """
        context = self.context()
        clock = context.config.source(self.name).clock
        names = [] if only is None else list(only)
        handover = Handover.begin(self.name, clock, clock.start_of(first), clock.start_of(last), names, revise)
        with ExitStack() as stand_ins:
            for name, stand_in in self._stand_ins(range(first, last), missing or {}).items():
                stand_ins.enter_context(patch(name, stand_in))
            if not published:
                stand_ins.enter_context(patch("jobs.verbs.seal.publish"))
            for step in (gate, partial(summarise, events=self.events), observe, resolve, validate):
                step(context, handover)
                handover = self.between(handover)
            if seal is not None:
                handover.monitors = {name: at for name, at in handover.monitors.items() if name in set(seal)}
            seal_epochs(context, handover)

    def _stand_ins(self, epochs: range, missing: Mapping[str, str]) -> dict[str, Callable[..., Any]]:
        """For Spark and Great Expectations."""

        def site_statistics(context: Context, source: Source, *given: Any) -> pa.Table:
            return statistics(source, self.events, epochs)

        def counted_events(
            context: Context, source: Source, landing: int, cells: Iterable[tuple[int, str]], groupings: Sequence[Any]
        ) -> list[dict[tuple[int, str], int]]:
            counts = counted(source, self.events)
            return [{cell: counts[cell] for cell in cells} for _ in groupings]

        def check_sites(*arguments: Any) -> list[Finding]:
            starts: range = arguments[-1]
            return [
                Finding(start, "site is fresh", False, site=site, detail=why)
                for start in starts
                for site, why in missing.items()
            ]

        return {
            "jobs.verbs.gate.site_statistics": site_statistics, "jobs.verbs.gate.counted_events": counted_events,
            "jobs.quality.check_sites": check_sites,
            "jobs.quality.check_rows": lambda table, rows: [],
        }  # fmt: skip


def _event_row(source: Source, hour: int, site: str, item: str, line: int, write: str) -> dict[str, Any]:
    start = to_datetime(source.clock.start_of(hour))
    return filled(EVENTS.columns) | {
        "source": source.name, "epoch_start": start, "day": start.date(), "time": start, "site": site, "item": item,
        "value": None, "fields": None, "digest": write, "line": line, "write": write,
    }  # fmt: skip


def bought(hour: int, **sites: str) -> list[Event]:
    """Events of an hour: for each site its items as letters, ``north="aab"``."""
    return [(hour, site, item) for site, items in sites.items() for item in items]
