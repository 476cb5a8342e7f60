"""A real scheduler, real steps, and a kill -9 every few seconds: what is sealed is as if nothing had happened."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from jobs.local.servers import airflow_server, spark_server, standby
from jobs.local.servers.airflow_api import AirflowApi
from jobs.local.servers.process import ServerFailed, Servers
from jobs.local.servers.spark_server import SparkServer
from jobs.spark.session import REMOTE
from monitoring_lib.epochs import parse_time, to_microseconds
from monitoring_lib.tables import ALERTS, ANSWERS, AUDITS, EVENTS
from tests.dags.conftest import ROOT
from tests.dags.killing import Killer, Kills
from tests.jobs.pipeline.deployment import BUSIEST, HOUR, ONE_PARTITION, RECENT, SOURCE, Deployment, Row, shopping

pytestmark = [pytest.mark.airflow, pytest.mark.spark]
DAY = timedelta(days=1)
MONITORS = (
    BUSIEST | {"shadow": ["margins"]},
    RECENT | {"method": "margins", "measure": "count", "window": "3d"},
    {"name": "distinct", "question": "distinct-count", "source": "shop", "error": 0.2},
)
RETRIES = {"catchup": True, "retries": 20, "retry_delay": "1s", "timeout": "5m"}
SEED = 20
AHEAD = 6
"""Files come so many epochs before the first that is not sealed, so that none is late."""
BY_HAND = 5
"""Epochs that a run by hand covers at most."""
PATIENCE = {
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "25",
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "10",
}
"""Seconds after which Airflow gives up a silent task, and looks for tasks that a dead scheduler has left."""
DAGS = ("epochs-shop", "audit-shop", "maintain-shop")


@dataclass
class World:
    """A deployment, its servers, and the days that it covers."""

    home: Deployment
    epochs: int
    origin: datetime
    airflow: airflow_server.AirflowHome
    servers: Servers
    spark: SparkServer
    killer: Killer

    def day(self, epoch: int) -> str:
        return (self.origin + epoch * DAY).isoformat()

    def sealed(self) -> int:
        """Epochs that every monitor has sealed."""
        ledger = self.home.context().lake.ledger
        return min(len(ledger.seals("shop", monitor["name"])) for monitor in MONITORS)


def rows_of(origin: datetime, epochs: int) -> dict[int, list[Row]]:
    """A day's rows by epoch, counted in seconds as `Deployment.add_file` counts them."""
    before = (to_microseconds(origin) - parse_time("2020-01-01")) // 10**6
    return {
        day: [(before + day * 24 * HOUR + second - day * HOUR, *rest) for second, *rest in rows]
        for day, rows in shopping(SEED, epochs).items()
    }


def bring(home: Deployment, day: int, rows: list[Row]) -> None:
    """A file that is whole when it is first seen."""
    home.add_file(f"{day:03}.new", rows).rename(home.home / f"data/{day:03}.csv")


def deployed(folder: Path, origin: datetime) -> Deployment:
    source = SOURCE | {"epoch": "1d", "origin": f"{origin:%Y-%m-%dT%H:%MZ}", "airflow": RETRIES}
    return Deployment(folder, source, MONITORS, ONE_PARTITION)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[World]:
    epochs: int
    kills: Kills
    epochs, kills = request.param
    # Half an epoch ago, so that none ends while the test runs.
    origin = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - DAY / 2 - epochs * DAY
    home = deployed(tmp_path / "home", origin)
    environment = {"FARWATCH_HOME": str(home.home), "FARWATCH_CONF": str(home.home / "conf")}
    with Servers() as servers:
        spark = spark_server.begin(tmp_path / "spark", restarts=spark_server.RESTARTS)
        servers.add(spark.server)
        environment[REMOTE] = spark.remote
        monkeypatch.setenv(REMOTE, spark.remote)
        steps, found_at = standby.begin(tmp_path / "standby", environment)
        servers.add(steps)
        environment |= found_at | PATIENCE
        airflow = airflow_server.prepare(tmp_path / "airflow", ROOT / "dags", environment, parallelism=6)
        airflow.run("db", "migrate")
        # The scheduler may also fall over its own database, SQLite, which only costs time.
        monkeypatch.setattr(airflow_server, "RESTARTS", 100)
        parts = {part.name: servers.add(part) for part in airflow.begin()}
        airflow_server.wait_ready(airflow, list(parts.values()))
        spark_server.wait_ready(spark)
        killer = Killer(SEED, kills, parts["Airflow's scheduler"], steps, spark.server)
        yield World(home, epochs, origin, airflow, servers, spark, killer)


class Operator:
    """Does what people and schedules do: lets files come, starts runs, and starts them again where they failed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.api: AirflowApi = world.airflow.api
        self.rows = rows_of(world.origin, world.epochs)
        self.brought = 0
        self.has_backfilled = False
        self.cared_for = 0
        """The epochs that were sealed when audit and maintenance were last asked for."""

    def unpause(self, deadline: float) -> None:
        for dag in DAGS:
            while not self.api.knows(dag):
                assert time.monotonic() < deadline, f"{dag} was never parsed"
                time.sleep(0.5)
            patiently(lambda dag=dag: self.api.patch(f"/dags/{dag}", {"is_paused": False}))

    def act(self) -> int:
        """What is due now; the epochs that are sealed."""
        sealed = self.world.sealed()
        while self.brought < min(self.world.epochs, sealed + AHEAD):
            bring(self.world.home, self.brought, self.rows[self.brought])
            self.brought += 1
        if not self.has_backfilled and sealed >= self.world.epochs // 3:
            self._backfill()
            self.has_backfilled = True
        if sealed > self.cared_for:
            self._run_by_hand("audit-shop", {"from": self.world.day(0), "to": self.world.day(self.world.epochs)})
            self._run_by_hand("maintain-shop", {})
            self.cared_for = sealed
        if self.has_backfilled and sealed < self.world.epochs:
            last = min(sealed + BY_HAND, self.world.epochs)
            self._run_by_hand("epochs-shop", {"from": self.world.day(sealed), "to": self.world.day(last)})
        return sealed

    def _backfill(self) -> None:
        """The later half, newest first: every run stands before a gap, until the epochs before it are sealed."""
        asked = {
            "dag_id": "epochs-shop", "from_date": self.world.day(self.world.epochs // 2),
            "to_date": self.world.day(self.world.epochs - 1), "max_active_runs": 3, "run_backwards": True,
        }  # fmt: skip
        patiently(lambda: self.api.post("/backfills", asked))

    def _run_by_hand(self, dag: str, conf: dict[str, str]) -> None:
        """Another run by hand, where none of them is under way."""
        if not any(run["run_type"] == "manual" for run in self.under_way(dag)):
            patiently(lambda: self.api.post(f"/dags/{dag}/dagRuns", {"logical_date": None, "conf": conf}))

    def settle(self, deadline: float) -> None:
        """Waits for the runs that go on: what is sealed is published a moment later."""
        while going_on := [run["dag_run_id"] for dag in DAGS for run in self.under_way(dag)]:
            assert time.monotonic() < deadline, f"{going_on} did not end"
            time.sleep(0.5)

    def under_way(self, dag: str) -> list[dict[str, Any]]:
        return [run for run in self.runs(dag) if run["state"] in ("queued", "running")]

    def runs(self, dag: str) -> list[dict[str, Any]]:
        asked = patiently(lambda: self.api.get(f"/dags/{dag}/dagRuns", order_by="-run_after", limit=100))
        return list(asked["dag_runs"])


def patiently(call: Callable[[], Any]) -> Any:
    """Once more where SQLite is locked by another part of Airflow."""
    for _ in range(20):
        try:
            return call()
        except ServerFailed:
            time.sleep(1.0)
    return call()


@pytest.mark.parametrize(
    ("world", "longest"),
    [
        pytest.param((3, Kills(0, 0)), 900, marks=pytest.mark.timeout(1200)),
        pytest.param((50, Kills(8, 3)), 5400, marks=[pytest.mark.long, pytest.mark.timeout(6000)]),
    ],
    indirect=["world"],
    ids=["once-each", "every-few-seconds"],
)
def test_whatever_is_killed_the_content_is_that_of_a_clean_run(world: World, longest: float, tmp_path: Path) -> None:
    clean = deployed(tmp_path / "clean", world.origin)
    for day, rows in rows_of(world.origin, world.epochs).items():
        bring(clean, day, rows)
    done = clean.command("run", "--source", "shop", "--from", world.day(0), "--to", world.day(world.epochs))
    assert done.returncode == 0, done.stderr

    deadline = time.monotonic() + longest
    operator = Operator(world)
    operator.unpause(deadline)
    with world.killer as killer:
        while (sealed := operator.act()) < world.epochs:
            killer.sealed = sealed
            world.servers.check()
            assert time.monotonic() < deadline, f"{sealed} epochs are sealed; killed so far: {killer.killed}"
            time.sleep(0.5)
    operator.settle(deadline)
    print(f"killed: {dict(killer.killed)}")
    assert set(killer.killed) == set(killer.kinds)
    kinds = {(run["run_type"], run["state"]) for run in operator.runs("epochs-shop")}
    assert ("scheduled", "success") in kinds
    assert "backfill" in {kind for kind, _ in kinds}
    if world.epochs > AHEAD:  # in a shorter gap all may be sealed before the backfill comes to it
        assert ("backfill", "failed") in kinds
    for dag in ("audit-shop", "maintain-shop"):
        assert "success" in {run["state"] for run in operator.runs(dag)}, dag
    world.servers.check()
    spark_server.wait_ready(world.spark)
    same_content(world.home, clean)
    audited = world.home.command("audit", "shop")
    assert audited.returncode == 0, audited.stderr
    assert world.home.rows(AUDITS)


def same_content(home: Deployment, clean: Deployment) -> None:
    """Every sealed row, every published answer, every event once; and no audit has found anything on its way."""
    assert home.digests() == clean.digests()
    assert home.published() == clean.published()
    assert home.rows(ANSWERS)
    journal = home.context().lake.ledger.journal("shop", home.context().config.source("shop").clock)
    landed = home.context().lake.of_writes(EVENTS, [landing.write for landing in journal])
    assert landed.num_rows == len(clean.rows(EVENTS))
    assert {row["kind"] for row in home.rows(ALERTS)}.isdisjoint({"promise broken", "integrity"})
