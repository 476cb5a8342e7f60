"""The DAGs of every source of the configuration: its epochs, their audit, and the care of its tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import groupby
from pathlib import Path

from airflow.sdk import DAG, Param

from farwatch_airflow.groups import EpochTaskGroup, defaults_of, environment_of, timetable_of
from farwatch_airflow.operators import FarwatchOperator
from farwatch_airflow.ranges import RangeOperator
from farwatch_airflow.sources import ScheduledSource, read_sources
from farwatch_airflow.timetable import EpochTimetable
from monitoring_lib.documents.faults import Fault
from monitoring_lib.epochs import to_datetime
from monitoring_lib.verbs import VERBS

DOC = """\
Epochs of the source **{name}**, for the monitors {monitors}.

A scheduled or backfilled run covers its data interval. A run started by hand covers `from` to `to` where
both are given, else the last complete interval before its logical date (before its start, where it has none).
Running an interval again changes nothing, unless `revise` gives a reason: then its epochs are computed anew
and sealed over the old ones; both stay readable.

Failures are final except exit code 3 (storage or Spark) and a command that was killed: these are tried again.
An epoch whose predecessor is not sealed is refused by `gate`: backfill the gap first
(`airflow backfill create --dag-id {dag} …`).
"""
AUDIT_DOC = """\
Audits the source **{name}**: recomputes exact answers from all landed events, judges every sealed answer of the
interval, and compares digests and counts of all sealed rows.

A scheduled run covers its data interval, a run started by hand `from` to `to` where both are given, else everything
that is sealed. It fails where a promise was broken or rows do not match their seal; the log names each case and what
to do.
"""
MAINTAIN_DOC = """\
Takes care of the tables of the source **{name}**: compaction, checkpoints, clean-up of logs and of writes that no seal
lists.

It changes no content and may run beside epochs. `farwatch maintain {name} --dry-run` says what it would do.
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


def all_dags(home: Path, conf: Path, environment: str) -> Iterator[DAG]:
    """The DAGs of a deployment; a file that cannot be scheduled becomes one that says so."""
    sources, faults = read_sources(conf, environment)
    for source in sources:
        yield epochs_dag(source, home, conf)
        yield audit_dag(source, home, conf)
        yield maintain_dag(source, home, conf)
    for file, of_file in groupby(sorted(faults, key=lambda fault: fault.file), lambda fault: fault.file):
        yield faulty_dag(Path(file), list(of_file), home, conf)


def epochs_dag(source: ScheduledSource, home: Path, conf: Path) -> DAG:
    """The steps in a chain, one run at a time, as the source's file says."""
    dag_id = f"epochs-{source.name}"
    with DAG(
        dag_id,
        schedule=timetable_of(source),
        start_date=to_datetime(source.origin),
        catchup=source.catchup,
        max_active_runs=1,
        dagrun_timeout=_longest_run(source),
        params=FORM,
        doc_md=DOC.format(name=source.name, dag=dag_id, monitors=", ".join(source.monitors) or "(none yet)"),
        tags=["farwatch", source.name],
    ) as dag:
        EpochTaskGroup(source, home=home, conf=conf, prefix_group_id=False)
    return dag


def audit_dag(source: ScheduledSource, home: Path, conf: Path) -> DAG:
    """Recomputes the answers of an interval from the landed events and judges what was sealed."""
    timetable = EpochTimetable(source.origin, source.audit)
    with DAG(
        f"audit-{source.name}",
        schedule=timetable,
        start_date=to_datetime(source.origin),
        catchup=False,
        max_active_runs=1,
        params={name: FORM[name] for name in ("from", "to")},
        doc_md=AUDIT_DOC.format(name=source.name),
        tags=["farwatch", source.name],
    ) as dag:
        RangeOperator(
            task_id="audit",
            arguments=["audit", source.name],
            timetable=timetable,
            home=str(home),
            env=environment_of(home, conf),
            doc_md="Ends with failure where a promise was broken or a digest does not match; the log says which.",
            **defaults_of(source),
        )
    return dag


def maintain_dag(source: ScheduledSource, home: Path, conf: Path) -> DAG:
    """Compacts, checkpoints and cleans the tables; safe beside a running epoch."""
    with DAG(
        f"maintain-{source.name}",
        schedule=EpochTimetable(source.origin, source.maintain),
        start_date=to_datetime(source.origin),
        catchup=False,
        max_active_runs=1,
        doc_md=MAINTAIN_DOC.format(name=source.name),
        tags=["farwatch", source.name],
    ) as dag:
        FarwatchOperator(
            task_id="maintain",
            arguments=["maintain", source.name],
            home=str(home),
            env=environment_of(home, conf),
            doc_md="Compaction, checkpoints, clean-up by each table's retention; stale chains are listed.",
            **defaults_of(source),
        )
    return dag


def _longest_run(source: ScheduledSource) -> timedelta:
    """Longer than all steps with their retries: a task that hangs fails by itself, so that `alert` still runs."""
    return (len(VERBS) + 1) * ((1 + source.retries) * source.timeout + source.retries * source.retry_delay)


def faulty_dag(file: Path, faults: Sequence[Fault], home: Path, conf: Path) -> DAG:
    """Stands where a source's DAG would stand, so that one faulty file neither hides nor stops the others."""
    name = str(file.relative_to(conf)) if file.is_relative_to(conf) else file.name
    dag_id = "faulty-" + re.sub(r"[^\w.-]+", "-", name)
    doc = "\n".join(f"- {fault}" for fault in faults)
    with DAG(dag_id, schedule=None, tags=["farwatch"], doc_md=doc) as dag:
        FarwatchOperator(
            task_id="check-config",
            arguments=["check-config"],
            home=str(home),
            env=environment_of(home, conf),
            retries=0,
        )
    return dag
