"""A deployment in a folder of its own, for tests: configuration, files, runs, and what its tables hold."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from jobs.command.run import run
from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from jobs.lake.content import digest_rows
from monitoring_lib.config import load
from monitoring_lib.epochs import parse_time
from monitoring_lib.tables import TABLES, Table
from tests.commands import farwatch

HOUR = 3_600
Row = tuple[int, str, str, int]
"""Second since the origin, site, item, value."""

SOURCE = {
    "name": "shop", "format": "csv", "path": "data/*.csv", "epoch": "1h", "origin": "2020-01-01",
    "columns": {"time": "time", "site": "site", "item": "item", "value": "value"},
}  # fmt: skip
BUSIEST = {"name": "busiest", "question": "top-k", "source": "shop", "k": 3, "tolerance": 4, "method": "caching"}
ONE_PARTITION = {"spark": {"options": {"spark.sql.shuffle.partitions": "1"}}}
"""Settings for tests that are not about Spark: a shuffle of a few rows takes a task instead of four."""
RECENT = {
    "name": "recent", "question": "top-k", "source": "shop", "k": 2, "window": "3h", "measure": "sum(value)",
    "method": "caching",
}  # fmt: skip


@dataclass
class Deployment:
    """`home` holds conf, data and var."""

    home: Path
    source: Mapping[str, Any] = field(default_factory=lambda: SOURCE)
    monitors: Iterable[Mapping[str, Any]] = (BUSIEST, RECENT)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("conf/base/sources", "conf/base/monitors", "data"):
            (self.home / name).mkdir(parents=True, exist_ok=True)
        self._yaml("farwatch.yml", self.settings)
        self._yaml(f"sources/{self.source['name']}.yml", self.source)
        for monitor in self.monitors:
            self._yaml(f"monitors/{monitor['name']}.yml", monitor)

    def _yaml(self, name: str, content: Mapping[str, Any]) -> None:
        (self.home / "conf/base" / name).write_text(yaml.safe_dump(dict(content)), encoding="utf-8")

    def context(self) -> Context:
        return Context(load(self.home / "conf"), self.home)

    def watched(self, committed: Callable[[str], None]) -> Context:
        """A context that tells of every commit, by the name of its table."""
        context = self.context()
        context.lake.centre.committed = context.lake.sites.committed = committed
        return context

    def add_file(self, name: str, rows: Iterable[Row]) -> Path:
        path = self.home / "data" / name
        lines = ["time,site,item,value"]
        lines += [
            f"{parse_time('2020-01-01') // 10**6 + second},{site},{item},{value}" for second, site, item, value in rows
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def handover(self, first: int, last: int, revise: str = "", only: Iterable[str] = ()) -> Handover:
        """The epochs `first` to `last`, the last one not included."""
        clock = self.context().config.source(self.source["name"]).clock
        return Handover.begin(
            self.source["name"], clock, clock.start_of(first), clock.start_of(last), list(only), revise
        )

    def run(self, first: int, last: int, revise: str = "", context: Context | None = None) -> Handover:
        return run(context or self.context(), self.handover(first, last, revise))

    def command(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """`farwatch` in a process of its own."""
        given = os.environ | {"FARWATCH_HOME": str(self.home), "FARWATCH_CONF": str(self.home / "conf")} | environment
        return farwatch(*arguments, environment=given)

    def digests(self) -> dict[tuple[str, int], str]:
        """The digest of every current seal: covers all sealed content up to there."""
        ledger, source = self.context().lake.ledger, self.source["name"]
        return {
            (monitor["name"], seal.epoch_start): seal.digest
            for monitor in self.monitors
            for seal in ledger.seals(source, monitor["name"])
        }

    def published(self) -> str:
        """The digest of the table `answers`, which readers see."""
        return self.content(TABLES["answers"])

    def content(self, table: Table) -> str:
        return digest_rows(table, self.rows(table))

    def rows(self, table: Table) -> list[dict[str, Any]]:
        found: pa.Table = self.context().lake.store_of(table).read(table)
        return list(found.to_pylist())


def shopping(seed: int, hours: int, sites: int = 4, items: int = 12, each_hour: int = 60) -> dict[int, list[Row]]:
    """Random rows by hour."""
    draw = random.Random(seed)
    return {
        hour: [
            (
                hour * HOUR + draw.randrange(HOUR), f"site {draw.randrange(sites)}",
                f"item {int(draw.paretovariate(0.8)) % items}", draw.randrange(1, 9),
            )
            for _ in range(each_hour)
        ]
        for hour in range(hours)
    }  # fmt: skip
