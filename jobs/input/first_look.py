"""A look at a source's files before anything lands: what there is, and what its first rows would become."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from jobs.input import files
from jobs.input.reading import column_names, read
from monitoring_lib.config import Source
from monitoring_lib.errors import FarwatchError

ROWS = 1_000
"""Rows that are looked at."""


@dataclass
class FirstLook:
    """The files of a source, and the first rows of the first one that has any. `problem` is why they cannot land."""

    files: int = 0
    size: int = 0
    path: str = ""
    columns: list[str] = field(default_factory=list)
    events: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    """By kind of fault, how many rows have it."""
    problem: str = ""

    @property
    def rows(self) -> int:
        return self.events + self.faults.total()


def first_look(source: Source, home: Path) -> FirstLook:
    """Reads the beginning of one file; storage that cannot be reached is a problem like any other."""
    look = FirstLook()
    try:
        found = files.find(source.path, home)
        look.files, look.size = len(found), sum(file.size for file in found)
        for file in found:
            if file.size:
                _look_into(look, file.path, source)
                break
    except FarwatchError as error:
        look.problem = str(error)
    if look.faults and not look.events:
        most = look.faults.most_common(1)[0][0]
        look.problem = f"{look.path}: none of its first {look.rows} rows can become an event; most often: {most}"
    return look


def _look_into(look: FirstLook, path: str, source: Source) -> None:
    look.path = path
    look.columns = column_names(path, source)
    for batch in read(path, source, ROWS):
        part = batch.slice(0, ROWS - look.rows)
        kinds = [kind for kind in part["fault_kind"].to_pylist() if kind is not None]
        look.faults.update(kinds)
        look.events += part.num_rows - len(kinds)
        if look.rows >= ROWS:
            return
