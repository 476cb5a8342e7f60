"""The steps of a source's epochs as a group of tasks, for Farwatch's DAGs and for a DAG of your own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow.sdk import TaskGroup, chain

from farwatch_airflow.sources import ScheduledSource, read_sources
from farwatch_airflow.steps import StepOperator
from farwatch_airflow.timetable import EpochTimetable
from monitoring_lib.documents.folder import folder_and_environment
from monitoring_lib.suggest import nearest
from monitoring_lib.verbs import VERBS


class EpochTaskGroup(TaskGroup):
    """All steps of the epochs that a run covers: what comes after the group waits for `seal`.

    Put it into a DAG whose data intervals are whole epochs of the source, such as one with `timetable_of(source)`.
    `alert` is a teardown: it runs whatever happened and does not decide how the run ended. Steps are tried again after
    exit code 3, or where they were killed, as the source's file says under `airflow`.
    """

    def __init__(
        self,
        source: str | ScheduledSource,
        *,
        home: str | Path,
        conf: str | Path | None = None,
        group_id: str = "",
        **kwargs: Any,
    ) -> None:
        known = source_named(source, home, conf) if isinstance(source, str) else source
        super().__init__(group_id=group_id or f"epochs-{known.name}", **kwargs)
        with self:
            steps = [
                StepOperator(
                    verb=verb,
                    source=known.name,
                    timetable=timetable_of(known),
                    home=str(home),
                    env=environment_of(home, conf),
                    **defaults_of(known),
                )
                for verb in VERBS
            ]
            chain(*steps)
            steps[-1].as_teardown()  # as a common last task it would turn every failed run into a success


def source_named(name: str, home: str | Path, conf: str | Path | None = None) -> ScheduledSource:
    """What the configuration says of a source; a LookupError that names the known ones where it says nothing."""
    folder, environment = folder_and_environment()
    sources, _ = read_sources(Path(home) / (conf or folder), environment)
    known = {source.name: source for source in sources}
    if name not in known:
        raise LookupError(f"{Path(home) / (conf or folder)}: there is no source {name!r}{nearest(name, known)}")
    return known[name]


def timetable_of(source: ScheduledSource) -> EpochTimetable:
    return EpochTimetable(source.origin, source.schedule)


def defaults_of(source: ScheduledSource) -> dict[str, Any]:
    """What the source's file says of each task."""
    return {
        "owner": source.owner,
        "pool": source.pool,
        "retries": source.retries,
        "retry_delay": source.retry_delay,
        "execution_timeout": source.timeout,
    }


def environment_of(home: str | Path, conf: str | Path | None) -> Mapping[str, str]:
    folder, _ = folder_and_environment()
    return {"FARWATCH_HOME": str(home), "FARWATCH_CONF": str(Path(home) / (conf or folder))}
