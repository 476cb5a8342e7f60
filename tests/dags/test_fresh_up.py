"""`farwatch up` in a new folder with the shipped source and an hour of data: what a newcomer clicks is green."""

from __future__ import annotations

import csv
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import pytest
import yaml

from jobs.epoch.context import Context
from jobs.local import up_down
from jobs.local.servers.airflow_api import AirflowApi
from jobs.local.servers.airflow_server import USER
from jobs.local.servers.process import accepts_connections, is_guard
from monitoring_lib.config import load
from monitoring_lib.tables import VERDICTS
from tests.browser import NO_BROWSER
from tests.dags.browser import Person, at_airflow
from tests.dags.conftest import ROOT

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.slow]

HOUR = timedelta(hours=1)
SHIPPED = ("busiest-objects", "distinct-objects-today", "traffic-bytes")
"""Of the shipped monitors: a ranked list, a number, and a series."""
SITES = ("ams", "fra", "lhr")
LONGEST_UP = 240.0
PATIENCE = 480.0


@dataclass
class Fresh:
    """What `up` has started, and the one hour that there is data of."""

    home: Path
    running: up_down.Running
    api: AirflowApi
    start: datetime

    @property
    def end(self) -> datetime:
        return self.start + HOUR

    def ended(self, dag: str, kind: str, count: int) -> list[dict[str, Any]]:
        """The runs of a kind, oldest first, once there are `count` of them and all have ended."""
        deadline = time.monotonic() + PATIENCE
        while True:
            found = self.api.get(f"/dags/{dag}/dagRuns", order_by="run_after")["dag_runs"]
            runs = [run for run in found if run["run_type"] == kind]
            if len(runs) >= count and all(run["state"] in ("success", "failed") for run in runs):
                return runs
            assert time.monotonic() < deadline, f"runs of {dag}: {[(one['run_type'], one['state']) for one in found]}"
            time.sleep(0.5)

    def log(self, run: dict[str, Any], task: str) -> list[str]:
        path = f"/dags/{run['dag_id']}/dagRuns/{quote(run['dag_run_id'], safe='')}/taskInstances/{task}/logs/1"
        return [line["event"] for line in self.api.get(path)["content"]]

    def context(self) -> Context:
        return Context(load(self.home / "conf", "local"), self.home)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fresh]:
    home = tmp_path_factory.mktemp("fresh")
    not_shown = {path.name for path in ROOT.glob("conf/base/monitors/*.yml") if path.stem not in SHIPPED}
    shutil.copytree(ROOT / "conf", home / "conf", ignore=shutil.ignore_patterns(*not_shown))
    # Epochs end half an hour before and after now, so that none ends while the tests run.
    start = datetime.now(UTC).replace(second=0, microsecond=0) - 1.5 * HOUR
    overlay = home / "conf/local/sources"
    overlay.mkdir()
    (overlay / "cdn.yml").write_text(yaml.safe_dump({"origin": f"{start - 48 * HOUR:%Y-%m-%dT%H:%MZ}"}))
    write_requests(home / "data/cdn", start)
    _command("up", home)  # its last act is to print where Airflow is: then everything answers
    running = up_down.running(home)
    assert running is not None
    password = json.loads(Path(running.password_file).read_text())[USER]
    try:
        yield Fresh(home, running, AirflowApi(running.url, USER, password), start)
    finally:
        _command("down", home)
        assert not any(is_guard(pid) for pid in running.guards.values())
        assert not accepts_connections(int(running.url.rpartition(":")[2]))


def write_requests(folder: Path, start: datetime) -> None:
    """An hour of requests, a file for each site, with the columns of the shipped source."""
    folder.mkdir(parents=True)
    draws = random.Random(1)
    for site in SITES:
        rows = sorted((draws.uniform(0, 3_599), f"object-{int(draws.paretovariate(1))}") for _ in range(500))
        with gzip.open(folder / f"{site}.csv.gz", "wt", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["time", "site", "item", "value"])
            for second, item in rows:
                time_ = (start + timedelta(seconds=second)).isoformat(timespec="milliseconds")
                writer.writerow([time_, site, item, draws.randint(100, 100_000)])


def _command(name: str, home: Path) -> str:
    others = {key: value for key, value in os.environ.items() if not key.startswith(("FARWATCH_", "AIRFLOW_"))}
    done = subprocess.run(
        [sys.executable, "-m", "jobs.command.cli", name], env=others | {"FARWATCH_HOME": str(home)}, cwd=ROOT,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST_UP, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_servers_listen_on_loopback_only_and_a_second_up_leaves_them_alone(fresh: Fresh) -> None:
    guards = fresh.running.guards
    assert len(guards) == 5
    for guard in map(psutil.Process, guards.values()):
        for one in [guard, *guard.children(recursive=True)]:
            listening = [found for found in one.net_connections() if found.status == psutil.CONN_LISTEN]
            assert {found.laddr.ip.removeprefix("::ffff:") for found in listening} <= {"127.0.0.1"}
    assert fresh.running.url in _command("up", fresh.home)
    assert up_down.running(fresh.home) == fresh.running


@pytest.fixture(scope="module")
def sealed(fresh: Fresh) -> dict[str, Any]:
    """The run of the last hour. As the switch and the button do it: the schedule's own run is made at once too."""
    fresh.api.patch("/dags/epochs-cdn", {"is_paused": False})
    fresh.api.post("/dags/epochs-cdn/dagRuns", {"logical_date": None})
    [by_hand] = fresh.ended("epochs-cdn", "manual", 1)
    [scheduled] = fresh.ended("epochs-cdn", "scheduled", 1)
    assert (by_hand["state"], scheduled["state"]) == ("success", "success")
    return scheduled


def test_switched_on_and_triggered_it_is_green_and_the_log_of_seal_ends_with_the_answers(
    fresh: Fresh, sealed: dict[str, Any]
) -> None:
    said, whole = fresh.log(sealed, "seal"), f"{len(SITES)} of {len(SITES)}"
    assert any(f"{whole} sites, epoch {fresh.start:%Y-%m-%dT%H:%MZ}" in line for line in said)
    events = fresh.api.get("/assets/events", source_dag_id="epochs-cdn", limit=100)["asset_events"]
    assert {event["name"] for event in events} == {f"farwatch-{name}" for name in SHIPPED}
    assert all(event["extra"]["says"] for event in events)


@pytest.fixture(scope="module")
def person(fresh: Fresh, sealed: dict[str, Any]) -> Iterator[Person]:
    if NO_BROWSER:
        pytest.skip(NO_BROWSER)
    with at_airflow(fresh.running.url, fresh.api.password) as person:
        yield person


@pytest.mark.long
def test_a_person_has_the_hour_done_anew_by_the_form(fresh: Fresh, person: Person) -> None:
    person.open("/dags/epochs-cdn")
    person.click("[data-testid=trigger-dag-button]")
    # The first field is Airflow's own logical date.
    person.pick_time(fresh.start, 1)
    person.pick_time(fresh.end, 2)
    person.find("#element_revise").send_keys("a first try")
    person.click("[data-testid=trigger-dag-submit]")
    run = fresh.ended("epochs-cdn", "manual", 2)[-1]
    assert run["state"] == "success"
    [seal] = fresh.context().lake.ledger.seals("cdn", "busiest-objects")
    assert (seal.revision, seal.reason) == (1, "a first try")


@pytest.mark.long
def test_a_backfill_of_what_is_sealed_changes_nothing(fresh: Fresh, person: Person) -> None:
    before = fresh.context().lake.ledger.seals("cdn", "busiest-objects")
    person.open("/dags/epochs-cdn")
    person.click("[data-testid=trigger-dag-button]")
    person.choose("backfill")
    person.choose("completed")
    person.pick_time(fresh.start, 0)
    person.pick_time(fresh.start, 1)
    person.press("Run Backfill")
    assert [run["state"] for run in fresh.ended("epochs-cdn", "backfill", 1)] == ["success"]
    assert fresh.context().lake.ledger.seals("cdn", "busiest-objects") == before


@pytest.mark.long
def test_an_audit_that_a_person_starts_finds_every_promise_kept_and_the_page_says_so(
    fresh: Fresh, person: Person
) -> None:
    person.open("/dags/audit-cdn")
    person.click("[data-testid=trigger-dag-button]")
    person.click("[data-testid=trigger-dag-submit]")
    [run] = fresh.ended("audit-cdn", "manual", 1)
    assert run["state"] == "success"
    assert any(line.startswith("every promise was kept") for line in fresh.log(run, "audit"))
    verdicts = fresh.context().lake.centre.read(VERDICTS)
    assert verdicts["kept"].to_pylist() == [True] * verdicts.num_rows
    person.open("/farwatch/")
    person.reads("audited monitors kept every promise")
    person.reads("Busiest objects today")
