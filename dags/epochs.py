"""One Airflow DAG for every source of the configuration: its epochs go through eight `farwatch` commands."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from airflow.sdk import DAG, AssetAlias, DeltaDataIntervalTimetable, Param, chain
from airflow.sdk.exceptions import AirflowFailException
from conf_sources import Source, read_sources
from verb_operator import VerbOperator

HOME = Path(os.environ.get("FARWATCH_HOME") or Path(__file__).parent.parent).absolute()
CONF = HOME / os.environ.get("FARWATCH_CONF", "conf")
# The scheduler runs every interval that it has missed since the origin for these sources, else only the last.
CATCHING_UP = os.environ.get("FARWATCH_CATCHUP", "").split(",")
STEPS = {
    "land": "New files become events, each row under its own epoch; faulty rows go to quarantine.",
    "gate": "Is the epoch before sealed (else exit code 4: not now)? Which sites are fit to take part?",
    "summarise": "Counts and sketches by site and epoch, for every monitor, where the data is.",
    "observe": "Each site takes in its epoch and says what its protocol has it say.",
    "resolve": "The coordinator reads the messages, asks, and answers, until nobody has anything to say.",
    "validate": "Output expectations and protocol invariants, on exactly what would be sealed.",
    "seal": "One commit makes the writes the truth of the epoch; then the answers are published.",
    "alert": "Runs whatever happened before: tells the sinks what failed, once.",
}
TASK_LIMIT = timedelta(minutes=30)
# Longer than all steps with their retries: a task that hangs fails by itself, so that `alert` still runs.
RUN_LIMIT = timedelta(hours=12)
DOC = """\
Epochs of the source **{name}**, for the monitors {monitors}.

A scheduled or backfilled run covers its data interval. A run started by hand covers `from` to `to` where
both are given, else the last complete interval before its logical date (before its start, where it has none).
Running an interval again changes nothing, unless `revise` gives a reason: then its epochs are computed anew
and sealed over the old ones; both stay readable.

Failures are final except exit code 3 (storage or Spark), which is tried again. An epoch whose predecessor is
not sealed is refused by `gate`: backfill the gap first (`airflow backfill create --dag-id {dag} …`).
"""
TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$"
BORDER = {"type": ["null", "string"], "format": "date-time", "pattern": TIME}
FORM = {
    "from": Param(None, **BORDER, title="From", description="Start of the first epoch (UTC); needs To"),
    "to": Param(None, **BORDER, title="To", description="End of the last epoch (UTC), exclusive; needs From"),
    # Null, not an empty text: the form takes an empty text for a field that was left out, and triggers nothing.
    "revise": Param(
        None, type=["null", "string"], maxLength=500, title="Revise", description="Why sealed epochs are done anew"
    ),
}


def border(source: Source, which: str, dag_run, params) -> str:
    """Start ('from') or end ('to') of what a run covers, always on the source's own grid.

    Airflow counts intervals from 1970 or from the moment somebody pressed a button, not from the origin.
    """
    if bool(params["from"]) != bool(params["to"]):
        raise AirflowFailException("give both From and To, or neither")
    if params[which]:
        return datetime.fromisoformat(params[which]).isoformat()
    end = source.floor(dag_run.data_interval_end or dag_run.run_after)
    return (end if which == "to" else end - source.schedule).isoformat()


def newest(ti, steps: list[str]) -> str:
    """The last hand-over that any of `steps` left: `alert` also runs after one that left none."""
    given = (ti.xcom_pull(task_ids=step) for step in reversed(steps))
    return next(filter(None, given), "")


def epochs_dag(source: Source) -> DAG:
    dag_id = f"epochs-{source.name}"
    with DAG(
        dag_id,
        schedule=DeltaDataIntervalTimetable(source.schedule),
        start_date=source.origin,
        catchup=source.name in CATCHING_UP,
        max_active_runs=1,
        dagrun_timeout=RUN_LIMIT,
        params=FORM,
        default_args={"retries": 2, "retry_delay": timedelta(seconds=15), "execution_timeout": TASK_LIMIT},
        user_defined_macros={"border": partial(border, source), "newest": newest},
        doc_md=DOC.format(name=source.name, dag=dag_id, monitors=", ".join(source.monitors) or "(none yet)"),
        tags=["farwatch", source.name],
    ) as dag:
        tasks = [
            VerbOperator(
                task_id=verb,
                doc_md=meaning,
                cwd=str(HOME),
                env={
                    "FARWATCH_HOME": str(HOME),
                    "FARWATCH_CONF": str(CONF),
                    "FARWATCH_SOURCE": source.name,
                    "FARWATCH_FROM": "{{ border('from', dag_run, params) }}",
                    "FARWATCH_TO": "{{ border('to', dag_run, params) }}",
                    "FARWATCH_REVISE": "{{ params.revise or '' }}",
                    "FARWATCH_GIVEN": f"{{{{ newest(ti, {list(STEPS)[:number]}) }}}}",
                },
                outlets=[AssetAlias(f"farwatch-sealed-{source.name}")] if verb == "seal" else [],
            )
            for number, (verb, meaning) in enumerate(STEPS.items())
        ]
        chain(*tasks)
        tasks[-1].as_teardown()  # as a common last task it would turn every failed run into a success
    return dag


def faulty_dag(file: str, fault: str) -> DAG:
    """Stands where a source's DAG would stand, so that one faulty file neither hides nor stops the others."""
    name = "faulty-" + file.replace("/", "-")
    with DAG(name, schedule=None, tags=["farwatch"], doc_md=f"`{file}`: {fault}") as dag:
        VerbOperator(task_id="check-config", command="farwatch check-config", cwd=str(HOME))
    return dag


sources, faults = read_sources(CONF, os.environ.get("FARWATCH_ENV", "local"))
for made in [*map(epochs_dag, sources), *(faulty_dag(*fault) for fault in faults.items())]:
    globals()[made.dag_id] = made
