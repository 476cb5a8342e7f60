"""Follows the runs through Airflow's interface, and lets each hour's files arrive in time."""

from __future__ import annotations

import time
import urllib.parse
from datetime import UTC, datetime, timedelta
from typing import Any

from jobs.local.demo.view import DemoView, TaskProgress
from jobs.local.demo.world import SOURCE, World
from jobs.local.servers.airflow_api import AirflowApi
from jobs.local.servers.airflow_server import AirflowHome
from jobs.local.servers.process import ServerFailed, Servers
from monitoring_lib.errors import FarwatchError
from monitoring_lib.verbs import VERBS

DAG = f"epochs-{SOURCE}"
AUDIT = f"audit-{SOURCE}"
LONGEST_PARSING = 120.0
LONGEST_RUNS = 1200.0
LONGEST_AUDIT = 600.0
BETWEEN_LOOKS = 0.7
LINES_OF_LOG = 25


def watch(world: World, airflow: AirflowHome, servers: Servers, view: DemoView) -> list[TaskProgress]:
    """Starts the schedule and returns every step once the last epoch is through; an error if one failed."""
    api = airflow.api
    _wait_for_dag(api, servers)
    world.deliver(0)
    api.patch(f"/dags/{DAG}", {"is_paused": False})
    deadline = time.monotonic() + LONGEST_RUNS
    while True:
        servers.check()
        steps = _steps(api, world)
        view.show(steps)
        landed = [step for step in steps if step.verb == "land" and step.state == "success"]
        if 0 < len(landed) < world.hours:
            world.deliver(len(landed))
        for step in steps:
            if step.state == "failed":
                _raise_failed(airflow, step)
        if len([step for step in steps if step.verb == VERBS[-1] and step.is_over]) == world.hours:
            return steps
        if time.monotonic() > deadline:
            raise ServerFailed(f"the epochs did not end within {LONGEST_RUNS:.0f} s; see {airflow.folder}")
        time.sleep(BETWEEN_LOOKS)


def run_audit(world: World, airflow: AirflowHome, servers: Servers) -> None:
    """Runs the DAG that audits the source over all epochs of the demo; an error if a promise was broken."""
    api, end = airflow.api, world.epochs[-1] + timedelta(hours=1)
    span = {"from": f"{world.epochs[0]:%Y-%m-%dT%H:%MZ}", "to": f"{end:%Y-%m-%dT%H:%MZ}"}
    api.patch(f"/dags/{AUDIT}", {"is_paused": False})
    run = api.post(f"/dags/{AUDIT}/dagRuns", {"logical_date": None, "conf": span})["dag_run_id"]
    deadline = time.monotonic() + LONGEST_AUDIT
    while (state := _state(api, run)) not in ("success", "failed"):
        servers.check()
        if time.monotonic() > deadline:
            raise ServerFailed(f"the audit did not end within {LONGEST_AUDIT:.0f} s; see {airflow.folder}")
        time.sleep(BETWEEN_LOOKS)
    api.patch(f"/dags/{AUDIT}", {"is_paused": True})
    if state == "failed":
        raise FarwatchError(f"the audit failed; {_ending(airflow, 'audit')}")


def _state(api: AirflowApi, run: str) -> str:
    return str(api.get(f"/dags/{AUDIT}/dagRuns/{urllib.parse.quote(run, safe='')}")["state"])


def _wait_for_dag(api: AirflowApi, servers: Servers) -> None:
    deadline = time.monotonic() + LONGEST_PARSING
    while not api.knows(DAG):
        servers.check()
        if time.monotonic() > deadline:
            errors = [found["stack_trace"] for found in api.get("/importErrors")["import_errors"]]
            raise ServerFailed("Airflow did not find the DAG " + DAG + "\n".join(["", *errors]))
        time.sleep(0.3)


def _steps(api: AirflowApi, world: World) -> list[TaskProgress]:
    """The tasks of the demo's epochs; a run of the hour that ends meanwhile is none of them."""
    found = api.get(f"/dags/{DAG}/dagRuns/~/taskInstances", limit=100, order_by="run_after")["task_instances"]
    runs = api.get(f"/dags/{DAG}/dagRuns", limit=50)["dag_runs"]
    starts = {run["dag_run_id"]: datetime.fromisoformat(run["data_interval_start"]) for run in runs}
    steps = [
        TaskProgress(starts[task["dag_run_id"]], task["task_id"], str(task["state"]), _seconds(task))
        for task in found
        if starts.get(task["dag_run_id"]) in world.epochs
    ]
    return sorted(steps, key=lambda step: (step.epoch, VERBS.index(step.verb)))


def _seconds(task: dict[str, Any]) -> float:
    if task["duration"] is not None:
        return float(task["duration"])
    if task["start_date"] is None:
        return 0.0
    return (datetime.now(UTC) - datetime.fromisoformat(task["start_date"])).total_seconds()


def _raise_failed(airflow: AirflowHome, step: TaskProgress) -> None:
    raise FarwatchError(f"{step.verb} of epoch {step.epoch:%H:%M} failed; {_ending(airflow, step.verb)}")


def _ending(airflow: AirflowHome, task: str) -> str:
    """The last lines of a task's newest log, with its place."""
    logs = sorted((airflow.folder / "logs").rglob(f"*task_id={task}/*.log"), key=lambda path: path.stat().st_mtime)
    if not logs:
        return f"{airflow.folder} holds no log of it"
    said = "\n".join(logs[-1].read_text(errors="replace").splitlines()[-LINES_OF_LOG:])
    return f"{logs[-1]} ends with:\n{said}"
