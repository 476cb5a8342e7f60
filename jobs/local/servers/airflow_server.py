"""Airflow on this machine: SQLite, LocalExecutor, loopback only, everything in one folder of its own.

The parts are started one by one instead of through `airflow standalone`, which leaves its children behind
when it is told to end by SIGTERM.
"""

from __future__ import annotations

import base64
import configparser
import io
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jobs.local.servers.airflow_api import AirflowApi
from jobs.local.servers.process import Server, ServerFailed, free_port
from jobs.spark.options import LOOPBACK
from jobs.spark.token import write_private

USER = "admin"
SECRETS = (("core", "fernet_key"), ("api", "secret_key"), ("api_auth", "jwt_secret"))
LONGEST_MIGRATION = 180.0
LONGEST_START = 180.0
# On SQLite the scheduler can fall over a run that a backfill is just about to create; then it goes on.
RESTARTS = 5
# A task's log is read from disk by the server beside it; the scheduler's own log server would listen on
# every interface.
PARTS = {
    "api-server": ["api-server"],
    "scheduler": ["scheduler", "--skip-serve-logs"],
    "dag-processor": ["dag-processor"],
}


@dataclass(frozen=True)
class AirflowHome:
    """A prepared AIRFLOW_HOME: its settings are written, nothing runs yet."""

    folder: Path
    port: int
    password: str = field(repr=False)
    environment: dict[str, str] = field(repr=False)

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def api(self) -> AirflowApi:
        return AirflowApi(self.url, USER, self.password)

    def run(self, *arguments: str, longest: float = LONGEST_MIGRATION) -> str:
        """One `airflow` command to its end; its standard output."""
        try:
            done = subprocess.run(
                [airflow_command(), *arguments],
                env=self.environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=longest,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ServerFailed(f"airflow {arguments[0]} did not end within {longest:.0f} s") from None
        if done.returncode != 0:
            said = (done.stdout + done.stderr)[-2000:]
            raise ServerFailed(f"airflow {' '.join(arguments)} failed:\n{said}")
        return done.stdout

    def begin_migration(self) -> Server:
        """Starts making the database, or bringing it up to date; `Servers.finish` waits for it."""
        return Server.start(
            "Airflow's database",
            [airflow_command(), "db", "migrate"],
            log=self.folder / "db-migrate.log",
            environment=self.environment,
            folder=self.folder,
        )

    def begin(self, outlive_us: bool = False) -> list[Server]:
        """Starts the parts without waiting for them: see `wait_ready`."""
        return [
            Server.start(
                f"Airflow's {part}",
                [airflow_command(), *arguments],
                log=self.folder / f"{part}.log",
                environment=self.environment,
                folder=self.folder,
                outlive_us=outlive_us,
                grace=5.0,
                restarts=RESTARTS,
            )
            for part, arguments in PARTS.items()
        ]


def airflow_command() -> str:
    return str(Path(sys.executable).with_name("airflow"))


def wait_ready(home: AirflowHome, parts: list[Server], longest: float = LONGEST_START) -> None:
    """Returns when the interface answers and says that scheduler and DAG processor are at work."""
    api = home.api

    def ready() -> bool:
        for part in parts:
            if not part.is_running:
                raise ServerFailed(f"{part.name} ended while starting; {part.log} says:\n{part.end_of_log()}")
        return api.is_healthy()

    parts[0].wait_until(ready, longest)


def prepare(
    folder: Path,
    dags: Path,
    environment: Mapping[str, str],
    *,
    port: int | None = None,
    parallelism: int = 8,
    idle_sleep: float = 0.1,
) -> AirflowHome:
    """Writes settings and password of an AIRFLOW_HOME; only its owner can read them.

    A home that was prepared before keeps its secrets and its password. `environment` is what the tasks are to
    see beside our own environment: home, configuration, Spark. `idle_sleep` is the scheduler's pause when it has
    nothing to do; Airflow's own default, a second, would be most of the time between two short tasks. A worker that
    has ended a task is busy for two seconds before it takes the next, so there are more (`parallelism`) than tasks.
    """
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    port = port or free_port()
    passwords = folder / "passwords.json"
    if not passwords.exists():
        write_private(passwords, json.dumps({USER: secrets.token_urlsafe(12)}))
    password: str = json.loads(passwords.read_text())[USER]
    before = configparser.RawConfigParser()
    before.read(folder / "airflow.cfg")
    settings = configparser.RawConfigParser()
    settings.read_dict(settings_of(folder, dags.absolute(), port, passwords))
    settings["core"]["parallelism"] = str(parallelism)
    settings["scheduler"]["scheduler_idle_sleep_time"] = str(idle_sleep)
    for section, option in SECRETS:
        settings[section][option] = before.get(section, option, fallback=settings[section][option])
    text = io.StringIO()
    settings.write(text)
    write_private(folder / "airflow.cfg", text.getvalue())
    # Another Airflow's variables would win over the settings written here.
    own = {k: v for k, v in os.environ.items() if not k.startswith(("AIRFLOW__", "AIRFLOW_"))}
    path = os.pathsep.join([str(Path(sys.executable).parent), own.get("PATH", os.defpath)])
    own |= {"AIRFLOW_HOME": str(folder), "PATH": path, "NO_PROXY": LOOPBACK, "no_proxy": LOOPBACK}
    return AirflowHome(folder, port, password, own | dict(environment))


def settings_of(folder: Path, dags: Path, port: int, passwords: Path) -> dict[str, dict[str, str | int]]:
    url = f"http://{LOOPBACK}:{port}"
    return {
        "core": {
            "dags_folder": str(dags),
            "plugins_folder": str(folder / "plugins"),
            "executor": "LocalExecutor",
            "load_examples": "False",
            "dags_are_paused_at_creation": "True",
            "hostname_callable": "socket.gethostname",  # the default asks a name server
            "simple_auth_manager_users": f"{USER}:admin",
            "simple_auth_manager_passwords_file": str(passwords),
            "execution_api_server_url": f"{url}/execution/",
            "fernet_key": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
        },
        "database": {"sql_alchemy_conn": f"sqlite:///{folder / 'airflow.db'}"},
        "api": {
            "host": LOOPBACK,
            "port": port,
            "base_url": url,
            "workers": 1,
            "secret_key": secrets.token_urlsafe(24),
            "expose_config": "False",
        },
        "api_auth": {"jwt_secret": secrets.token_urlsafe(48)},
        # A scheduler that is started again finds the queued tasks of the one that died: by default after five minutes.
        "scheduler": {"catchup_by_default": "False", "orphaned_tasks_check_interval": "30"},
        "dag_processor": {"parsing_processes": 1, "min_file_process_interval": 60},
        "logging": {"base_log_folder": str(folder / "logs"), "logging_level": "INFO"},
    }
