"""`farwatch up` leaves Airflow, with its UI, and Spark running on this machine; `farwatch down` stops them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from jobs.local.demo.view import stage
from jobs.local.demo.world import PROJECT, World, demo_folder
from jobs.local.servers import airflow_server, spark_server, standby
from jobs.local.servers.airflow_server import LONGEST_MIGRATION, USER
from jobs.local.servers.process import Servers, accepts_connections, free_port, is_guard, stop_guard
from jobs.terminal.console import say
from monitoring_lib.config import load
from monitoring_lib.errors import UsageError

USUAL_PORT = 8080


@dataclass(frozen=True)
class Running:
    """What `up` started: the guards' process ids, and where the UI is."""

    url: str
    password_file: str
    guards: dict[str, int]

    def says(self) -> str:
        return (
            f"Airflow: {self.url}   user {USER}, password in {self.password_file}\n"
            f"switch on the DAG epochs-SOURCE to run a source's epochs; their answers: {self.url}/farwatch/\n"
            "stop it with: farwatch down (or make down)"
        )


def up(home: Path | None = None, *, demo: bool = False) -> None:
    """Starts the servers for the configuration of `home` (FARWATCH_HOME, else here), or for the last demo's.

    What runs already is left alone.
    """
    begun = time.monotonic()
    record = _record(home)
    before = _read(record)
    if before is not None and any(is_guard(pid) for pid in before.guards.values()):
        say("The servers are running already.")
        print(before.says())
        return
    folder, environment = _demo_world(home) if demo else _own_world(home)
    settings = load(Path(environment["FARWATCH_CONF"]), environment["FARWATCH_ENV"]).settings
    with _recorded(record) as servers:
        if settings.spark.remote is None:
            spark = spark_server.begin(
                folder / "spark", master=settings.spark.master, extra=settings.spark.options, outlive_us=True,
                restarts=spark_server.RESTARTS,
            )  # fmt: skip
            servers.add(spark.server)
            environment["FARWATCH_SPARK_REMOTE"] = spark.remote
        steps, ready = standby.begin(folder / "standby", environment, outlive_us=True)
        servers.add(steps)
        environment |= ready
        port = free_port() if accepts_connections(USUAL_PORT) else USUAL_PORT
        airflow = airflow_server.prepare(folder / "airflow", PROJECT / "dags", environment, port=port)
        with stage(begun, "bringing Airflow's database up to date"):
            servers.finish(servers.add(airflow.begin_migration()), LONGEST_MIGRATION)
        parts = [servers.add(part) for part in airflow.begin(outlive_us=True)]
        guards = {server.name: server.guard.pid for server in servers.started}
        begun_now = Running(airflow.url, str(airflow.folder / "passwords.json"), guards)
        record.write_text(json.dumps(begun_now.__dict__, indent=1))
        with stage(begun, "starting Airflow and Spark"):
            airflow_server.wait_ready(airflow, parts)
            if settings.spark.remote is None:
                spark_server.wait_ready(spark)
        servers.started.clear()  # all of them answer: from here on they live without us
    print(begun_now.says())


@contextmanager
def _recorded(record: Path) -> Iterator[Servers]:
    """Servers that are stopped, and their record removed, unless all of them come up."""
    try:
        with Servers() as servers:
            yield servers
    except BaseException:
        record.unlink(missing_ok=True)
        raise


def down(home: Path | None = None) -> None:
    """Stops what `up` started, and everything that runs below it."""
    record = _record(home)
    recorded = _read(record)
    if recorded is None:
        say("Nothing is running here.")
        return
    stopped = [name for name, pid in recorded.guards.items() if stop_guard(pid)]
    record.unlink(missing_ok=True)  # another `down` may have been faster
    say(f"Stopped: {', '.join(stopped)}." if stopped else "The servers had ended already.")


def running(home: Path | None = None) -> Running | None:
    """What `up` has recorded here, whether or not it still runs."""
    return _read(_record(home))


def _record(home: Path | None) -> Path:
    record = (home or Path(os.environ.get("FARWATCH_HOME", "."))).absolute() / "var" / "up.json"
    record.parent.mkdir(parents=True, exist_ok=True)
    return record


def _read(record: Path) -> Running | None:
    try:
        return Running(**json.loads(record.read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise UsageError(f"{record} is damaged ({error}); remove it after stopping the processes by hand") from error


def _own_world(home: Path | None) -> tuple[Path, dict[str, str]]:
    home_folder = (home or Path(os.environ.get("FARWATCH_HOME", "."))).absolute()
    conf = home_folder / os.environ.get("FARWATCH_CONF", "conf")
    environment = {"FARWATCH_HOME": str(home_folder), "FARWATCH_CONF": str(conf)}
    return home_folder / "var", environment | {"FARWATCH_ENV": os.environ.get("FARWATCH_ENV", "local")}


def _demo_world(home: Path | None) -> tuple[Path, dict[str, str]]:
    world = World(demo_folder(home))
    if not world.airflow.exists():
        raise UsageError(f"{world.folder} holds no demo; run `farwatch demo` first")
    return world.folder, world.environment
