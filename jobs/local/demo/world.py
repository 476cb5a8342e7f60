"""The demo's world: a folder with its own configuration, trace, tables and Airflow, made anew every time."""

from __future__ import annotations

import csv
import fcntl
import gzip
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

import yaml

from jobs.simulation.generate import GeneratedTrace, generate
from monitoring_lib.errors import UsageError

PROJECT = Path(__file__).resolve().parents[3]
SOURCE = "cdn"
ENVIRONMENT = "demo"
SITES, SEED = 30, 7
EVENTS_PER_HOUR = 20_000
BROKEN_ROWS = 5
LATE_HOUR, LATE_ROWS = 1, 40
MONITORS = (
    "busiest-objects", "heaviest-objects-3h", "distinct-objects-today", "flash-crowds-10m", "frequent-objects",
)  # fmt: skip
"""Of the project's own monitors: a few different questions, so that the demo is short to run and to read."""


@dataclass
class World:
    """Where the demo lives, and the epochs that it covers: the last complete hours."""

    folder: Path
    hours: int = 6
    begun: datetime = field(default_factory=lambda: datetime.now(UTC))

    @cached_property
    def origin(self) -> datetime:
        return self.begun.replace(minute=0, second=0, microsecond=0) - timedelta(hours=self.hours)

    @property
    def dags(self) -> Path:
        return PROJECT / "dags"

    @property
    def airflow(self) -> Path:
        return self.folder / "airflow"

    @property
    def environment(self) -> dict[str, str]:
        """What makes any `farwatch` command work on the demo's tables."""
        return {
            "FARWATCH_HOME": str(self.folder),
            "FARWATCH_CONF": str(self.folder / "conf"),
            "FARWATCH_ENV": ENVIRONMENT,
        }

    @cached_property
    def epochs(self) -> list[datetime]:
        return [self.origin + timedelta(hours=hour) for hour in range(self.hours)]

    def configure(self) -> None:
        """The project's own source and monitors, with the demo's times and places laid over them."""
        base = PROJECT / "conf" / "base"
        if not (base / "sources" / f"{SOURCE}.yml").exists() or not self.dags.exists():
            raise UsageError(f"{PROJECT} holds no conf or dags; run the demo from a work tree of the project")
        monitors = [base / "monitors" / f"{name}.yml" for name in MONITORS]
        for path in (base / "farwatch.yml", base / "sources" / f"{SOURCE}.yml", *monitors):
            self._put(self.folder / "conf" / path.relative_to(PROJECT / "conf"), path.read_text(encoding="utf-8"))
        overlay = self.folder / "conf" / ENVIRONMENT
        own = {
            "origin": f"{self.origin:%Y-%m-%dT%H:%MZ}", "airflow": {"catchup": True},
            "late": {"horizon": "1d", "revise": "auto"},
        }  # fmt: skip
        self._put(overlay / "sources" / f"{SOURCE}.yml", yaml.safe_dump(own))
        settings = {
            "storage": {"coordinator": "tables/coordinator", "sites": "tables/sites"},
            "alerts": {"sinks": ["log", "file:alerts.jsonl"]},
        }
        self._put(overlay / "farwatch.yml", yaml.safe_dump(settings))

    def _put(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def generate(self) -> None:
        """The trace: a site is silent for an hour, some rows are late, some are broken, a file comes twice.

        The rows of a few minutes at one site come an hour late, so that one epoch is replayed. In the last hour but one
        a site reports a negative number of bytes: it is set aside, and its rows are owed.
        """
        self.trace: GeneratedTrace = generate(
            "cdn",
            self.folder / "arriving",
            seed=SEED,
            sites=SITES,
            hours=self.hours,
            start=f"{self.origin:%Y-%m-%dT%H:%MZ}",
            events_per_hour=EVENTS_PER_HOUR,
            corrupt=BROKEN_ROWS,
            late=0,
        )
        odd = {file.repeats for file in self.trace.files} | {one.path for one in self.trace.facts.corrupt}
        plain = [file for file in self.trace.files if file.rows and not file.repeats and file.path not in odd]
        by_hour = [{file.site: file.path for file in plain if file.hour == hour} for hour in range(self.hours)]
        arriving = self.folder / "arriving"
        _spoil(arriving / next(iter(by_hour[-2].values())))
        site = next(site for site in reversed(by_hour[LATE_HOUR]) if site in by_hour[LATE_HOUR + 1])
        _delay(arriving / by_hour[LATE_HOUR][site], arriving / by_hour[LATE_HOUR + 1][site])

    def deliver(self, hour: int) -> None:
        """Lets the files of an hour arrive where the source looks for them."""
        arrived = self.folder / "data" / SOURCE / f"{hour:02d}"
        arrived.mkdir(parents=True, exist_ok=True)
        for file in self.trace.files:
            arriving = self.folder / "arriving" / file.path
            if file.hour == hour and arriving.exists():
                arriving.rename(arrived / file.path)


def _spoil(path: Path) -> None:
    """The file with one more row, whose value no gate lets pass."""
    header, *rows = _read(path)
    value = header.index("value")
    _write(path, [header, *rows, [*rows[-1][:value], "-1", *rows[-1][value + 1 :]]])


def _delay(path: Path, later: Path) -> None:
    """Moves the last rows of a file into a later one."""
    rows, (header, *others) = _read(path), _read(later)
    _write(path, rows[:-LATE_ROWS])
    _write(later, [header, *rows[-LATE_ROWS:], *others])


def _read(path: Path) -> list[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def _write(path: Path, rows: list[list[str]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


@contextmanager
def only_one_demo(home: Path | None, hours: int) -> Iterator[World]:
    """A fresh world; the last demo's is removed. Two demos in one place would tread on each other."""
    folder = demo_folder(home)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "demo.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"another demo is running in {folder}; wait for its end or stop it") from None
        if folder.exists():
            shutil.rmtree(folder)
        world = World(folder, hours)
        world.configure()
        yield world


def demo_folder(home: Path | None = None) -> Path:
    return (home or Path(os.environ.get("FARWATCH_HOME", "."))).absolute() / "var" / "demo"
