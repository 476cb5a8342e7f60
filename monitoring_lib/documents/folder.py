"""The files of a configuration folder: the base, and the overlay of an environment over it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from monitoring_lib.documents import located
from monitoring_lib.documents.faults import Fault
from monitoring_lib.documents.located import Located, Position
from monitoring_lib.suggest import nearest

SETTINGS = "farwatch.yml"
BASE, DEFAULT_ENVIRONMENT = "base", "local"


def folder_and_environment(environ: Mapping[str, str] | None = None) -> tuple[Path, str]:
    """Folder and environment, as FARWATCH_CONF and FARWATCH_ENV say."""
    given = os.environ if environ is None else environ
    return Path(given.get("FARWATCH_CONF") or "conf"), given.get("FARWATCH_ENV") or DEFAULT_ENVIRONMENT


def read(folder: Path, environment: str) -> tuple[dict[str, Located], list[Fault]]:
    """Every file by its path below its layer, the layers laid over each other; and what could not be read."""
    found: list[Fault] = []
    documents: dict[str, Located] = {}
    for layer in _layers(folder, environment, found):
        for path in _yaml_files(folder / layer):
            below = path.relative_to(folder / layer).as_posix()
            file = str(path)
            kind, _, name = below.rpartition("/")
            if below != SETTINGS and (kind not in ("sources", "monitors") or not name.endswith(".yml")):
                found.append(Fault(file, None, "", "", "is not read under this name", _rename(kind, name)))
                continue
            document, more = located.read(path, file)
            found += more
            if document is not None:
                lower = documents.get(below)
                documents[below] = document if lower is None else located.overlay(lower, document)
    return documents, found


def documents_of(kind: str, documents: Mapping[str, Located], found: list[Fault]) -> Iterator[tuple[str, Located]]:
    """The sources or the monitors among the documents, each name once."""
    files: dict[str, str] = {}
    for below in sorted(below for below in documents if below.startswith(kind + "/")):
        document = documents[below]
        name_by_file(document, below.removeprefix(kind + "/").removesuffix(".yml"))
        name = str(document.value["name"])
        if name in files:
            found.append(document.fault(("name",), f"{files[name]} has this name too", "give each its own name"))
            continue
        files[name] = document.position_of(()).file
        yield name, document


def name_by_file(document: Located, stem: str) -> None:
    if "name" not in document.value:
        document.value["name"] = stem
        document.positions["name",] = Position(document.position_of(()).file, 1)


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
