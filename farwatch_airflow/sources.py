"""What a schedule needs of a source: its name, its intervals, its monitors, and what its file says under `airflow`.

Whether the configuration makes sense as a whole is for `farwatch check-config` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from monitoring_lib.documents import folder
from monitoring_lib.documents.faults import Fault, key_fault
from monitoring_lib.epochs import parse_duration, parse_patience, parse_time
from monitoring_lib.scheduling import Scheduling
from monitoring_lib.suggest import nearest

Part = TypeVar("Part")


@dataclass(frozen=True)
class ScheduledSource:
    """A source that can be scheduled. Origin, schedule and the intervals of audit and maintenance are microseconds."""

    name: str
    origin: int
    schedule: int
    monitors: tuple[str, ...]
    catchup: bool
    retries: int
    retry_delay: timedelta
    timeout: timedelta
    pool: str
    owner: str
    audit: int
    maintain: int


def read_sources(conf: Path, environment: str) -> tuple[list[ScheduledSource], list[Fault]]:
    """Every source that can be scheduled, and what is wrong with the others and with files as such."""
    documents, faults = folder.read(conf, environment)
    asked: dict[str, list[str]] = {}
    for name, monitor in folder.documents_of("monitors", documents, faults):
        asked.setdefault(str(monitor.value.get("source")), []).append(name)
    sources = []
    for name, document in folder.documents_of("sources", documents, faults):
        try:
            sources.append(_source(name, document.value, tuple(asked.get(name, ()))))
        except _UnfitError as unfit:
            fault = key_fault(unfit.path, str(unfit))
            faults.append(document.fault(fault.path, fault.problem, fault.remedy))
    return sources, faults


class _UnfitError(Exception):
    """What keeps a source from being scheduled, and under which keys it stands."""

    def __init__(self, path: tuple[str, ...], message: str) -> None:
        super().__init__(message)
        self.path = path


def _source(name: str, keys: Mapping[str, Any], monitors: tuple[str, ...]) -> ScheduledSource:
    said = _scheduling(keys.get("airflow"))
    every = "epoch" if keys.get("schedule") is None else "schedule"
    return ScheduledSource(
        name,
        _part(keys, parse_time, "origin"),
        _part(keys, parse_duration, every),
        monitors,
        catchup=said.catchup,
        retries=said.retries,
        retry_delay=timedelta(microseconds=_part(vars(said), parse_patience, "retry_delay", "airflow")),
        timeout=timedelta(microseconds=_part(vars(said), parse_duration, "timeout", "airflow")),
        pool=str(said.pool),
        owner=str(said.owner),
        audit=_part(vars(said), parse_duration, "audit", "airflow"),
        maintain=_part(vars(said), parse_duration, "maintain", "airflow"),
    )


def _scheduling(said: object) -> Scheduling:
    """What a file says under `airflow`: known keys, each of the kind that its default is of."""
    if not isinstance(said, dict | None):
        raise _UnfitError(("airflow",), "is not a mapping; write `key: value` lines")
    kinds = {key.name: type(key.default) for key in fields(Scheduling)}
    for key, value in (said or {}).items():
        if key not in kinds:
            raise _UnfitError(("airflow", key), f"unknown key{nearest(key, kinds)}")
        if kinds[key] is not str and type(value) is not kinds[key]:
            raise _UnfitError(("airflow", key), f"is not valid; it should be of the kind of {kinds[key].__name__}")
    return Scheduling(**(said or {}))


def _part(keys: Mapping[str, Any], parse: Callable[[str], Part], key: str, *above: str) -> Part:
    value = keys.get(key)
    if value is None:
        raise _UnfitError((*above, key), f"is missing; add `{key}: ...`")
    try:
        return parse(str(value))
    except ValueError as error:
        raise _UnfitError((*above, key), str(error)) from None
