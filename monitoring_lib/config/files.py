"""The files of a configuration folder: base, the overlay of an environment, and all their faults at once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from monitoring_lib.config import checks, marked, parsing
from monitoring_lib.config.faults import Fault, Finding, raise_if_any
from monitoring_lib.config.marked import Mark, Marked
from monitoring_lib.config.meaning import Config
from monitoring_lib.config.monitor import Monitor
from monitoring_lib.config.parsing import Parsed
from monitoring_lib.config.settings import Settings
from monitoring_lib.config.source import Source
from monitoring_lib.suggest import nearest

SETTINGS = "farwatch.yml"
BASE, DEFAULT_ENVIRONMENT = "base", "local"

Model = TypeVar("Model")


def locate(environ: Mapping[str, str] | None = None) -> tuple[Path, str]:
    """Folder and environment, as FARWATCH_CONF and FARWATCH_ENV say."""
    given = os.environ if environ is None else environ
    return Path(given.get("FARWATCH_CONF") or "conf"), given.get("FARWATCH_ENV") or DEFAULT_ENVIRONMENT


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
    document = marked.unmarked(dict(mapping), where)
    return _sound(parsing.source(document), document)


def parse_monitor(mapping: Mapping[str, Any], where: str) -> Monitor:
    """A monitor that stands in no file; it may lack a source."""
    document = marked.unmarked(dict(mapping), where)
    return _sound(parsing.monitor(document), document)


def read_monitor(path: Path) -> Monitor:
    """A monitor in a file of its own, outside any configuration folder; it may lack a source."""
    document, found = marked.read(path, str(path))
    if document is None:
        raise_if_any(found)
    assert document is not None
    _name_by_file(document, path.stem)
    return _sound(parsing.monitor(document), document, found)


def _sound(parsed: Parsed[Model], document: Marked, before: Sequence[Fault] = ()) -> Model:
    raise_if_any([*before, *parsed.faults(document)])
    assert parsed.model is not None
    return parsed.model


def check_together(monitor: Monitor, source: Source) -> None:
    """ConfigError where the monitor asks for what the source does not have."""
    found = checks.of_both(monitor, source)
    document = marked.unmarked({}, f"monitor {monitor.name}")
    raise_if_any([document.fault(finding.path, finding.problem, finding.remedy) for finding in found])


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
    layers = _layers(folder, environment, reading.faults)
    documents = _documents(folder, layers, reading.faults)
    if SETTINGS in documents:
        settings = parsing.settings(documents[SETTINGS])
        reading.settings = settings.model or reading.settings
        reading.faults += settings.faults(documents[SETTINGS])
    for name, document in _named("sources", documents, reading.faults):
        source = parsing.source(document)
        if source.model is None:
            reading.broken.add(name)
        else:
            reading.sources[name] = source.model
            source = source.also(checks.has_site(source.model))
        reading.faults += source.faults(document)
    for name, document in _named("monitors", documents, reading.faults):
        monitor = parsing.monitor(document)
        if monitor.model is not None:
            reading.monitors[name] = monitor.model
            monitor = monitor.also(_against_source(monitor.model, reading))
        reading.faults += monitor.faults(document)
    reading.faults.sort(key=lambda fault: (fault.file, fault.line or 0))
    return reading


def _layers(folder: Path, environment: str, found: list[Fault]) -> list[str]:
    if not (folder / BASE).is_dir():
        problem, remedy = "there is no such folder", "set FARWATCH_CONF to the folder that holds base/"
        found.append(Fault(str(folder / BASE), None, "", "", problem, remedy))
        return []
    if environment == BASE or (environment == DEFAULT_ENVIRONMENT and not (folder / environment).is_dir()):
        return [BASE]
    known = sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and entry.name[0] not in "._")
    if environment not in known:
        problem = f"there is no environment {environment!r} (FARWATCH_ENV)"
        found.append(Fault(str(folder), None, "", "", problem, nearest(environment, known).removeprefix("; ")))
        return [BASE]
    return [BASE, environment]


def _documents(folder: Path, layers: list[str], found: list[Fault]) -> dict[str, Marked]:
    """Every file by its path below its layer, the layers laid over each other."""
    documents: dict[str, Marked] = {}
    for layer in layers:
        for path in _yaml_files(folder / layer):
            below = path.relative_to(folder / layer).as_posix()
            file = str(path)
            kind, _, name = below.rpartition("/")
            if below != SETTINGS and (kind not in ("sources", "monitors") or not name.endswith(".yml")):
                found.append(Fault(file, None, "", "", "is not read under this name", _rename(kind, name)))
                continue
            document, more = marked.read(path, file)
            found += more
            if document is not None:
                lower = documents.get(below)
                documents[below] = document if lower is None else marked.overlay(lower, document)
    return documents


def _yaml_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix in (".yml", ".yaml") and not hidden and not path.is_dir():
            yield path


def _rename(kind: str, name: str) -> str:
    stem = name.rpartition(".")[0]
    if kind in ("sources", "monitors"):
        return f"rename it to {stem}.yml"
    if kind:
        return f"move it to sources/ or monitors/{nearest(kind, ('sources', 'monitors'))}"
    return f"settings stand in {SETTINGS}, sources in sources/, monitors in monitors/"


def _named(kind: str, documents: dict[str, Marked], found: list[Fault]) -> Iterator[tuple[str, Marked]]:
    """The sources or the monitors among the documents, each name once."""
    files: dict[str, str] = {}
    for below in sorted(below for below in documents if below.startswith(kind + "/")):
        document = documents[below]
        _name_by_file(document, below.removeprefix(kind + "/").removesuffix(".yml"))
        name = str(document.value["name"])
        if name in files:
            found.append(document.fault(("name",), f"{files[name]} has this name too", "give each its own name"))
            continue
        files[name] = document.mark_of(()).file
        yield name, document


def _name_by_file(document: Marked, stem: str) -> None:
    if "name" not in document.value:
        document.value["name"] = stem
        document.marks["name",] = Mark(document.mark_of(()).file, 1)


def _against_source(monitor: Monitor, reading: _Reading) -> Iterator[Finding]:
    known = [*reading.sources, *reading.broken]
    if monitor.source is None:
        yield Finding(("source",), "is missing", f"add `source: ...`{nearest('', known)}")
    elif monitor.source in reading.sources:
        yield from checks.of_both(monitor, reading.sources[monitor.source])
    elif monitor.source not in reading.broken:
        remedy = nearest(monitor.source, known).removeprefix("; ") or "add a file to sources/"
        yield Finding(("source",), "there is no such source", remedy)
