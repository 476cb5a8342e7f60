"""The task of Airflow that a command runs as: Airflow names it in the environment of all that a task starts."""

from __future__ import annotations

import os
from typing import NamedTuple


class AirflowTask(NamedTuple):
    """Ids, as Airflow's addresses have them."""

    dag: str
    run: str
    task: str


def airflow_task() -> AirflowTask | None:
    """None where no task of Airflow has started this command."""
    names = ("AIRFLOW_CTX_DAG_ID", "AIRFLOW_CTX_DAG_RUN_ID", "AIRFLOW_CTX_TASK_ID")
    found = AirflowTask(*(os.environ.get(name, "") for name in names))
    return found if found.dag and found.run else None


def airflow_run() -> str:
    """DAG/RUN, '' where there is none."""
    found = airflow_task()
    return f"{found.dag}/{found.run}" if found else ""
