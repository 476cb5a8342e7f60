"""`farwatch check-config`: all faults of all configuration files at once, and whether the files there are fit them."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jobs.input.first_look import FirstLook, first_look
from jobs.terminal.wording import counted, printable, size
from monitoring_lib import config
from monitoring_lib.documents.faults import MOST_SHOWN
from monitoring_lib.errors import ExitCode

_MOST_COLUMNS = 20
_LONGEST_NAME = 60


def run(as_json: bool = False, data: bool = True, only: str | None = None) -> ExitCode:
    """Prints what FARWATCH_CONF and FARWATCH_ENV lead to: every fault, or what there is.

    Without faults it looks at `data`: the files of every source, and the first rows of one of them, as they
    would land. Files that could not land are a fault of the configuration; that there are none yet is not. With
    `only`, the files of one source.
    """
    folder, environment = config.folder_and_environment()
    faults = config.faults(folder, environment)
    found = None if faults else config.load(folder, environment)
    names = [name for name in sorted(found.sources if found and data else ()) if only in (None, name)]
    looks = {name: _look(found.sources[name]) for name in names} if found else {}
    unfit = any(look.problem for look in looks.values())
    if as_json:
        shown = [asdict(fault) for fault in faults[:MOST_SHOWN]]
        told: dict[str, Any] = {"folder": str(folder), "environment": environment, "count": len(faults)}
        told |= {"faults": shown, "data": {name: _plain(look) for name, look in looks.items()}}
        print(json.dumps(told))
    elif found is None:
        print("\n".join(config.fault_lines(faults)))
        print(f"{counted(len(faults), 'fault')} in {counted(len({fault.file for fault in faults}), 'file')}")
    else:
        print("\n".join(_summary(found, environment, looks, unfit)))
    return ExitCode.WRONG_USE if faults or unfit else ExitCode.DONE


def _look(source: config.Source) -> FirstLook:
    return first_look(source, Path(os.environ.get("FARWATCH_HOME", ".")).absolute())


def _plain(look: FirstLook) -> dict[str, Any]:
    return asdict(look) | {"faults": dict(look.faults)}


def _summary(
    found: config.Config, environment: str, looks: Mapping[str, FirstLook], unfit: bool
) -> Iterator[str]:  # fmt: skip
    monitors = Counter(monitor.source for monitor in found.monitors.values())
    for name, source in sorted(found.sources.items()):
        if looks and name not in looks:
            continue
        yield f"{name}: {counted(monitors[name], 'monitor')}"
        if name in looks:
            yield from (f"  {line}" for line in _data(looks[name], source))
    faults = "the files of a source do not fit its configuration" if unfit else "no faults"
    yield f"{faults}; {counted(len(found.sources), 'source')} in environment {environment}"


def _data(look: FirstLook, source: config.Source) -> Iterator[str]:
    if not look.files and not look.problem:
        yield f"warning: no file matches the path {source.path!r}; nothing would land, and epochs would be sealed empty"
        return
    yield f"{counted(look.files, 'file')} of {size(look.size)}"
    if look.columns:
        names = ", ".join(printable(name, _LONGEST_NAME) for name in look.columns[:_MOST_COLUMNS])
        yield f"columns of {printable(look.path, 120)}: {names}{', …' if len(look.columns) > _MOST_COLUMNS else ''}"
    if look.rows:
        yield f"its first {counted(look.rows, 'row')}: {counted(look.events, 'event')}, {look.faults.total():,} faulty"
    for kind, rows in look.faults.most_common(5):
        yield f"  {counted(rows, 'row')}: {printable(kind, 200)}"
    if look.problem:
        yield f"fault: {printable(look.problem, 1_000)}"
