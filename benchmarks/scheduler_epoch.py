"""What the scheduler makes of an epoch: `python -m benchmarks.scheduler_epoch [--epochs 4] [--idle-sleep 1]`.

One Airflow (SQLite, LocalExecutor) and one Spark Connect server. A chain of eight tasks that do nothing is run before
and after the epochs of the demo's source: two with events, which also warm everything up, three in which these leave
the monitors' windows of three hours, then epochs in which nothing happens. Such an epoch, from its first task's start
to its last task's end, may take at most three times the chain of eight empty tasks. `--idle-sleep` is the scheduler's
pause between two looks: Airflow's default is 1 s, ours 0.1 s.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from jobs.local.demo.watch import DAG
from jobs.local.demo.world import SOURCE, World
from jobs.local.servers import airflow_server, spark_server, standby
from jobs.local.servers.airflow_api import AirflowApi
from jobs.local.servers.process import Servers
from monitoring_lib.verbs import VERBS

MOST_TIMES = 3.0
WITH_EVENTS = 2
WITH_CHANGES = WITH_EVENTS + 3
ROUNDS = 3
EMPTY = "empty-steps"
PATIENCE = 900.0
Run = dict[str, Any]


def wait_for(api: AirflowApi, servers: Servers, dag: str, count: int) -> list[Run]:
    """The first `count` runs of a DAG in their order, once all of them have ended well."""
    deadline = time.monotonic() + PATIENCE
    while True:
        servers.check()
        runs = api.get(f"/dags/{dag}/dagRuns", order_by="run_after", limit=100)["dag_runs"][:count]
        failed = [run["dag_run_id"] for run in runs if run["state"] == "failed"]
        if failed or time.monotonic() > deadline:
            raise SystemExit(f"{dag}: failed {failed}, or not done within {PATIENCE:.0f} s")
        if len(runs) == count and all(run["state"] == "success" for run in runs):
            return runs
        time.sleep(0.5)


def run_empty(api: AirflowApi, servers: Servers, before: int) -> None:
    for number in range(1, ROUNDS + 1):
        api.post(f"/dags/{EMPTY}/dagRuns", {"logical_date": None})
        wait_for(api, servers, EMPTY, before + number)


def seconds(api: AirflowApi, run: Run) -> tuple[list[float], float]:
    """Of each task in order, and of the whole run."""
    path = f"/dags/{run['dag_id']}/dagRuns/{run['dag_run_id']}/taskInstances"
    tasks = sorted(api.get(path)["task_instances"], key=lambda task: task["start_date"])
    whole = _time(tasks[-1]["end_date"]) - _time(tasks[0]["start_date"])
    return [task["duration"] for task in tasks], whole


def _time(text: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(text).timestamp()


def print_table(rows: dict[str, Sequence[tuple[list[float], float]]]) -> None:
    titles = [*VERBS, "between", "whole"]
    print(f"{'seconds, medians':<26}" + "".join(f"{title:>10}" for title in titles))
    for name, runs in rows.items():
        steps = [median(run[0][at] for run in runs) for at in range(len(VERBS))]
        between = median(whole - sum(tasks) for tasks, whole in runs)
        cells = [*steps, between, median(whole for _, whole in runs)]
        print(f"{name:<26}" + "".join(f"{cell:>10.2f}" for cell in cells))


def measure(folder: Path, without_events: int, idle_sleep: float) -> float:
    world = World(folder / "world", hours=WITH_CHANGES + without_events)
    world.configure()
    # A site that says nothing is the normal case here.
    overlay = world.folder / "conf" / "demo" / "sources" / f"{SOURCE}.yml"
    overlay.write_text(overlay.read_text() + "quality: {freshness: null, volume: null}\n")
    world.generate()
    shutil.copytree(world.dags, folder / "dags", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(Path(__file__).parent / "scheduler_dags" / "empty_steps.py", folder / "dags")
    with Servers() as servers:
        spark = spark_server.start(world.folder / "spark")
        servers.add(spark.server)
        steps, ready = standby.begin(world.folder / "standby", world.environment)
        servers.add(steps)
        given = world.environment | ready | {"FARWATCH_SPARK_REMOTE": spark.remote}
        airflow = airflow_server.prepare(world.airflow, folder / "dags", given, idle_sleep=idle_sleep)
        airflow.run("db", "migrate")
        parts = [servers.add(part) for part in airflow.begin()]
        airflow_server.wait_ready(airflow, parts)
        api = airflow.api
        for dag in (EMPTY, DAG):
            while not api.knows(dag):
                time.sleep(0.5)
        api.patch(f"/dags/{EMPTY}", {"is_paused": False})
        run_empty(api, servers, 0)
        for hour in range(WITH_EVENTS):
            world.deliver(hour)
        api.patch(f"/dags/{DAG}", {"is_paused": False})
        epochs = [seconds(api, run) for run in wait_for(api, servers, DAG, world.hours)]
        api.patch(f"/dags/{DAG}", {"is_paused": True})
        run_empty(api, servers, ROUNDS)
        empty = [seconds(api, run) for run in wait_for(api, servers, EMPTY, 2 * ROUNDS)]
    print_table(
        {
            "eight empty tasks": empty[1:],  # the first warms the worker up
            "an epoch without events": epochs[WITH_CHANGES:],
            "one whose windows empty": epochs[WITH_EVENTS:WITH_CHANGES],
            "the first, with all events": epochs[:1],
        }
    )
    return median(whole for _, whole in epochs[WITH_CHANGES:]) / median(whole for _, whole in empty[1:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--epochs", type=int, default=4, help="epochs without events that are measured")
    parser.add_argument("--idle-sleep", type=float, default=0.1, help="the scheduler's pause between two looks")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        times = measure(Path(folder), given.epochs, given.idle_sleep)
    print(f"an epoch without events takes {times:.1f} times eight empty tasks (at most {MOST_TIMES:g})")
    return int(times > MOST_TIMES)


if __name__ == "__main__":
    sys.exit(main())
