"""The files of a configuration folder: base, the overlay of an environment, and all their faults at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from monitoring_lib.config import checks, checks_together, parsing
from monitoring_lib.config.meaning import Config
from monitoring_lib.config.monitor import Monitor, MonitorKeys
from monitoring_lib.config.parsing import Parsed
from monitoring_lib.config.settings import Settings
from monitoring_lib.config.source import Source
from monitoring_lib.documents import located
from monitoring_lib.documents.faults import Fault, KeyFault, raise_if_any
from monitoring_lib.documents.folder import DEFAULT_ENVIRONMENT, SETTINGS, documents_of, name_by_file, read
from monitoring_lib.documents.located import Located
from monitoring_lib.epochs import format_duration
from monitoring_lib.suggest import nearest

Model = TypeVar("Model")


def load(folder: Path, environment: str = DEFAULT_ENVIRONMENT) -> Config:
    """The configuration of an environment; ConfigError lists every fault of every file."""
    reading = _read(folder, environment)
    raise_if_any(reading.faults)
    return Config(reading.settings, reading.sources, reading.monitors)


def faults(folder: Path, environment: str = DEFAULT_ENVIRONMENT) -> list[Fault]:
    """Every fault of every file, by file and line."""
    return _read(folder, environment).faults


def parse_source(mapping: Mapping[str, Any], where: str) -> Source:
    """A source that stands in no file; `where` names it in messages. It may lack a site."""
    document = located.from_no_file(dict(mapping), where)
    return _sound(parsing.source(document), document)


def parse_monitor(mapping: Mapping[str, Any], where: str) -> Monitor:
    """A monitor that stands in no file; it may lack a source."""
    document = located.from_no_file(dict(mapping), where)
    return _sound(parsing.monitor(document), document)


def read_monitor(path: Path) -> Monitor:
    """A monitor in a file of its own, outside any configuration folder; it may lack a source."""
    document, found = located.read(path, str(path))
    if document is None:
        raise_if_any(found)
    assert document is not None
    name_by_file(document, path.stem)
    return _sound(parsing.monitor(document), document, found)


def _sound(parsed: Parsed[Model], document: Located, before: Sequence[Fault] = ()) -> Model:
    raise_if_any([*before, *parsed.faults(document)])
    assert parsed.model is not None
    return parsed.model


def check_together(monitor: Monitor, source: Source) -> None:
    """ConfigError where the monitor asks for what the source does not have."""
    found = checks_together.of_both(monitor, source)
    document = located.from_no_file(said_by(monitor), f"monitor {monitor.name}")
    raise_if_any([document.fault(finding.path, finding.problem, finding.remedy) for finding in found])


def said_by(monitor: Monitor) -> dict[str, Any]:
    """What the monitor's file says, or could say, of its question and its method: `parse_monitor` reads it back."""
    said = {
        key: _as_said(getattr(monitor, key))
        for key in MonitorKeys.model_fields
        if key not in ("options", "alert", "quality", "begin")
    }
    said["options"] = {
        name: options.model_dump(mode="json", exclude_unset=True) for name, options in monitor.options.items()
    }
    said |= monitor.params.model_dump(mode="json", exclude_unset=True)
    return {key: value for key, value in said.items() if value is not None}


def _as_said(value: Any) -> Any:
    return format_duration(value) if isinstance(value, int) and not isinstance(value, bool) else value


@dataclass
class _Reading:
    """What has been read so far, and what was wrong with it."""

    settings: Settings = field(default_factory=Settings)
    sources: dict[str, Source] = field(default_factory=dict)
    monitors: dict[str, Monitor] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    """Names of sources that are there, but of which nothing can be said."""


def _read(folder: Path, environment: str) -> _Reading:
    reading = _Reading()
    documents, found = read(folder, environment)
    reading.faults += found
    if SETTINGS in documents:
        settings = parsing.settings(documents[SETTINGS])
        reading.settings = settings.model or reading.settings
        reading.faults += settings.faults(documents[SETTINGS])
    for name, document in documents_of("sources", documents, reading.faults):
        source = parsing.source(document)
        if source.model is None:
            reading.broken.add(name)
        else:
            reading.sources[name] = source.model
            source = source.also(checks.has_site(source.model))
        reading.faults += source.faults(document)
    for name, document in documents_of("monitors", documents, reading.faults):
        monitor = parsing.monitor(document)
        if monitor.model is not None:
            reading.monitors[name] = monitor.model
            more = chain(checks.uses_its_options(monitor.model), _against_source(monitor.model, reading))
            monitor = monitor.also(more)
        reading.faults += monitor.faults(document)
    reading.faults.sort(key=lambda fault: (fault.file, fault.line or 0))
    return reading


def _against_source(monitor: Monitor, reading: _Reading) -> Iterator[KeyFault]:
    known = [*reading.sources, *reading.broken]
    if monitor.source is None:
        yield KeyFault(("source",), "is missing", f"add `source: ...`{nearest('', known)}")
    elif monitor.source in reading.sources:
        yield from checks_together.of_both(monitor, reading.sources[monitor.source])
    elif monitor.source not in reading.broken:
        remedy = nearest(monitor.source, known).removeprefix("; ") or "add a file to sources/"
        yield KeyFault(("source",), "there is no such source", remedy)
