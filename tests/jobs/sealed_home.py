"""A deployment with sealed epochs, made without a JVM: the real steps run, over tables that delta-rs writes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml
from deltalake import write_deltalake

from jobs.context import Context
from jobs.lake import new_write
from jobs.lake.site_tables import SiteTables
from jobs.publish import publish
from monitoring_lib.config import Source, load
from monitoring_lib.epochs import to_datetime
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.tables import EVENTS, LANDINGS, Table
from tests.jobs.sealed_run import Input, Run

SOURCE = {
    "name": "shop", "format": "csv", "path": "data/*.csv", "epoch": "1h", "origin": "2020-01-01",
    "columns": {"time": "time", "site": "site", "item": "item", "value": "value"},
}  # fmt: skip
BUSIEST = {
    "name": "busiest", "question": "top-k", "source": "shop", "k": 2, "tolerance": 4, "method": "caching",
    "title": "Busiest items",
}  # fmt: skip
Event = tuple[int, str, str]
"""Hour, site, item; each counts once."""


class DirectSiteTables(SiteTables):
    """The sites' tables, written by delta-rs where a deployment has Spark."""

    def append_rows(self, table: Table, rows: list[dict[str, Any]]) -> None:
        if rows:
            partition = [table.partition] if table.partition else None
            location = self.store.location(table)
            Path(location).mkdir(parents=True, exist_ok=True)
            arrow = pa.Table.from_pylist(rows, table.schema)
            write_deltalake(location, arrow, mode="append", partition_by=partition)


@dataclass
class SealedHome:
    """`home` holds conf, data and var. Events land, then epochs are run over all that has landed."""

    home: Path
    monitors: Iterable[Mapping[str, Any]] = (BUSIEST,)
    source: Mapping[str, Any] = field(default_factory=lambda: SOURCE)
    events: list[Event] = field(default_factory=list)
    """All that has landed."""
    landing: int = 0
    inputs: dict[str, dict[int, Input]] = field(default_factory=dict)
    """What each monitor's sealed epochs were run over."""

    def __post_init__(self) -> None:
        self.configure()
        (self.home / "data").mkdir(exist_ok=True)

    def configure(self) -> None:
        files = {"farwatch": {"sites_run": "process"}, "sources/shop": self.source}
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
        given = os.environ | self.environment | environment
        return subprocess.run(
            [sys.executable, "-m", "jobs.cli", *arguments], env=given, capture_output=True, text=True,
            encoding="utf-8", timeout=120, check=False,
        )  # fmt: skip

    @property
    def environment(self) -> dict[str, str]:
        return {"FARWATCH_HOME": str(self.home), "FARWATCH_CONF": str(self.home / "conf"), "FARWATCH_ENV": "local"}

    def land(self, events: Iterable[Event], path: str = "data/file.csv") -> str:
        """One landing; its write."""
        context, write = self.context(), new_write("land")
        source, new = context.config.source("shop"), list(events)
        context.lake.append(
            EVENTS, [_event_row(source, hour, site, item, at, write) for at, (hour, site, item) in enumerate(new)]
        )
        context.lake.append(LANDINGS, [self._landing_row(path, len(new), write)])
        counts: dict[int, dict[str, int]] = {}
        for hour, _, _ in new:
            counts.setdefault(source.clock.start_of(hour), {"landed": 0})["landed"] += 1
        context.lake.ledger.seal_landing("shop", source.clock, self.landing, write, counts)
        self.landing += 1
        self.events += new
        return write

    def _landing_row(self, path: str, rows: int, write: str) -> dict[str, Any]:
        place = self.home / path
        size = place.stat().st_size if place.exists() else 0
        modified = place.stat().st_mtime_ns // 1000 if place.exists() else 0
        return {
            "source": "shop", "path": str(place), "digest": write, "bytes": size, "modified": to_datetime(modified),
            "read": rows, "landed": rows, "quarantined": 0, "late": 0, "note": "", "landed_at": datetime.now(UTC),
            "write": write,
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
        source = context.config.source("shop")
        names = sorted(monitor["name"] for monitor in self.monitors) if only is None else list(only)
        monitors = [context.config.monitor(name) for name in names]
        sealed = [monitor for monitor in monitors if seal is None or monitor.name in set(seal)]
        run = Run(context, source, range(first, last), revise, self.landing)
        run.gate(missing or {})
        synopses = {hour: self._counts(hour) for hour in run.epochs}
        run.summarise(monitors, synopses)
        inputs = {hour: Input(found, sorted(missing or ())) for hour, found in synopses.items()}
        for monitor in monitors:
            run.resolve(monitor, self.inputs.get(monitor.name, {}) | inputs)
        run.validate(monitors)
        run.store()
        run.seal(sealed)
        for monitor in sealed:
            self.inputs.setdefault(monitor.name, {}).update(inputs)
            if published:
                publish(context, "shop", monitor.name, 0)

    def _counts(self, hour: int) -> dict[str, Counts]:
        items: dict[str, list[str]] = {}
        for at, site, item in self.events:
            if at == hour:
                items.setdefault(site, []).append(item)
        return {site: Counts.of(found) for site, found in sorted(items.items())}


def _event_row(source: Source, hour: int, site: str, item: str, line: int, write: str) -> dict[str, Any]:
    start = to_datetime(source.clock.start_of(hour))
    return {
        "source": "shop", "epoch_start": start, "day": start.date(), "time": start, "site": site, "item": item,
        "value": None, "fields": None, "digest": write, "line": line, "write": write,
    }  # fmt: skip


def bought(hour: int, **sites: str) -> list[Event]:
    """Events of an hour: for each site its items as letters, ``north="aab"``."""
    return [(hour, site, item) for site, items in sites.items() for item in items]
