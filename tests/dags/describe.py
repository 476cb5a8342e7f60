"""Run as a script: parses a DAG file the way the scheduler does and says, as JSON, what came of it.

Airflow is imported here and not in the tests' own process: it takes over logging and settings.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import socket
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

HEAVY = (
    "pyspark", "delta", "deltalake", "pandas", "pyarrow", "numpy", "numba", "scipy", "duckdb", "msgpack", "msgspec",
    "great_expectations", "datasketches", "pydantic", "jobs",
)  # fmt: skip


def parse(path: Path) -> tuple[object, dict]:
    # Airflow's own import is not ours to count.
    airflow = importlib.import_module("airflow.sdk")
    assert airflow.DAG
    assert airflow.AssetAlias
    assert airflow.BaseOperator
    importlib.import_module("airflow.timetables.base")

    before, connections = set(sys.modules), []

    def connect(_: object, address: object, *rest: object) -> None:
        connections.append(repr(address))
        raise OSError("a DAG file opens no connection")

    socket.socket.connect = connect  # type: ignore[method-assign]
    sys.path.insert(0, str(path.parent))
    begun = time.perf_counter()
    spec = importlib.util.spec_from_file_location("parsed", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    taken = time.perf_counter() - begun
    new = {name.partition(".")[0] for name in set(sys.modules) - before}
    heavy = sorted(new & set(HEAVY))
    ours = sorted(name for name in set(sys.modules) - before if name.startswith("monitoring_lib"))
    return module, {"seconds": taken, "heavy": heavy, "ours": ours, "connections": connections}


def describe(dag: object) -> dict:
    from airflow.serialization.definitions.dag import SerializedDAG
    from airflow.serialization.serialized_objects import DagSerialization
    from airflow.timetables.base import TimeRestriction

    stored = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    assert isinstance(stored, SerializedDAG)
    intervals, last = [], None
    if dag.tags and dag.schedule is not None:
        for _ in range(3):
            info = stored.timetable.next_dagrun_info(
                last_automated_data_interval=last,
                restriction=TimeRestriction(earliest=dag.start_date, latest=None, catchup=True),
            )
            last = info.data_interval
            intervals.append([last.start.isoformat(), last.end.isoformat()])
    return {
        "intervals": intervals,
        "timetable": [type(stored.timetable).__name__, stored.timetable.summary, stored.timetable.description],
        "catchup": dag.catchup,
        "max_active_runs": dag.max_active_runs,
        "limit": dag.dagrun_timeout and dag.dagrun_timeout.total_seconds(),
        "doc": dag.doc_md,
        "params": {name: dag.params.get_param(name).schema for name in dag.params},
        "order": [task.task_id for task in dag.topological_sort()],
        "tasks": {task.task_id: describe_task(task) for task in dag.tasks},
    }


def describe_task(task: object) -> dict:
    return {
        "kind": type(task).__name__,
        "arguments": getattr(task, "arguments", None),
        "env": getattr(task, "env", None),
        "after": sorted(task.upstream_task_ids),
        "teardown": task.is_teardown,
        "decides": task.on_failure_fail_dagrun,
        "retries": task.retries,
        "retry_delay": task.retry_delay.total_seconds(),
        "pool": task.pool,
        "owner": task.owner,
        "limit": task.execution_timeout and task.execution_timeout.total_seconds(),
        "doc": task.doc_md,
        "outlets": [outlet.name for outlet in task.outlets],
        "links": {link.name: link.get_link(task, ti_key=None) for link in task.operator_extra_links},
    }


def borders(dag: object) -> dict:
    """What runs of different kinds cover."""
    from farwatch_airflow.steps import covered

    moment = datetime(2026, 3, 4, 5, 17, 30, tzinfo=UTC)
    inferred = dag.timetable.infer_manual_data_interval(run_after=moment)
    interval = {"data_interval_start": inferred.start, "data_interval_end": inferred.end, "run_after": moment}
    none = {"data_interval_start": None, "data_interval_end": None, "run_after": moment}
    empty = {"from": None, "to": None}
    given = {"from": "2026-03-01T00:00:00Z", "to": "2026-03-02T00:00:00+00:00"}
    runs = {
        "by hand, with a logical date": (SimpleNamespace(**interval), empty),
        "by hand, no logical date": (SimpleNamespace(**none), empty),
        "by hand, with a range": (SimpleNamespace(**interval), given),
    }
    found = {name: list(covered(dag.timetable, *run)) for name, run in runs.items()}
    try:
        covered(dag.timetable, SimpleNamespace(**none), given | {"to": None})
    except Exception as error:
        found["half a range"] = [type(error).__name__, str(error)]
    return found


def main() -> None:
    module, found = parse(Path(sys.argv[1]))
    from airflow.sdk import DAG

    dags = {value.dag_id: value for value in vars(module).values() if isinstance(value, DAG)}
    found["dags"] = {name: describe(dag) for name, dag in dags.items()}
    found["borders"] = {n: borders(dag) for n, dag in dags.items() if dag.schedule is not None}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
