"""A Delta table as a source: each of its versions is landed once, as a file would be.

A version brings the data files that it added to the table's rows. Files that are only rewritten (compaction)
bring nothing; a version that takes rows away cannot be landed, because what has landed stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pyarrow import fs

from jobs.input.storage import locate, storage_fault
from monitoring_lib.errors import DataError

if TYPE_CHECKING:
    from deltalake import DeltaTable

_LOG = "_delta_log"
_VERSION = re.compile(r"(.*)@v(\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Version:
    """One version of the table at a path; written as ``PATH@vNUMBER``."""

    table: str
    number: int

    def __str__(self) -> str:
        return f"{self.table}@v{self.number}"


def parse(path: str) -> Version | None:
    """The version that a path of `find` names, None where it names a file."""
    named = _VERSION.fullmatch(path)
    if named is None:
        return None
    system, table, _ = locate(named[1])
    return Version(named[1], int(named[2])) if is_table(system, table) else None


def is_table(system: fs.FileSystem, folder: str) -> bool:
    return bool(system.get_file_info(f"{folder}/{_LOG}").type == fs.FileType.Directory)


def versions(system: fs.FileSystem, table: str) -> Iterator[tuple[int, int, int]]:
    """Every version so far: number, size of its log entry, time of it in microseconds.

    Versions whose log entries have been cleaned away are named too, without size and time: whoever has
    landed them knows them by their identity, and to anyone else they are a clear error instead of a gap.
    """
    entries = {}
    for entry in system.get_file_info(fs.FileSelector(f"{table}/{_LOG}")):
        if re.fullmatch(r"\d{20}\.json", entry.base_name):
            entries[int(entry.base_name[:20])] = (entry.size or 0, (entry.mtime_ns or 0) // 1_000)
    for number in range(max(entries, default=-1) + 1):
        yield (number, *entries.get(number, (0, 0)))


def has_plain_names(path: str) -> bool:
    """Whether the columns of a file have the names of the table's; in a table that maps them they have not."""
    version = parse(path)
    if version is None:
        return True
    return _opened(version).metadata().configuration.get("delta.columnMapping.mode", "none") == "none"


def identity(version: Version) -> str:
    """A text that no other version of any table has."""
    return f"delta table {_opened(version).metadata().id} version {version.number}"


def _opened(version: Version) -> DeltaTable:
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    try:
        return DeltaTable(version.table.replace("s3a://", "s3://", 1))
    except (DeltaError, OSError) as error:
        raise DataError(f"{version}: the table cannot be opened ({error}); is it complete?") from error


@dataclass(frozen=True, slots=True)
class Added:
    """A data file that a version added, relative to the table, as the file system names it.

    `records` is None where the log does not tell; `parts` are the columns by which the table is partitioned.
    """

    path: str
    records: int | None
    parts: tuple[tuple[str, str | None], ...]


def added_files(version: Version) -> list[str]:
    """The paths of the data files of a version."""
    return [file.path for file in added(version)]


def added(version: Version) -> list[Added]:
    """The data files of a version; DataError where it does more than add rows."""
    system, table, _ = locate(version.table)
    try:
        with system.open_input_stream(f"{table}/{_LOG}/{version.number:020}.json", compression=None) as log:
            actions = [json.loads(line) for line in log.read().splitlines() if line.strip()]
    except FileNotFoundError:
        raise DataError(
            f"{version}: the table's log no longer has this version and it has not landed;"
            " point the source at a copy of the table, and keep the log longer"
        ) from None
    except OSError as error:
        raise storage_fault(str(version), error) from error
    except ValueError as error:
        raise DataError(f"{version}: the log entry is not JSON ({error}); is the table sound?") from error
    if any(_changes_data(action, "remove") for action in actions):
        raise DataError(f"{version}: takes rows away, and what has landed stays; use a table that is only appended to")
    files = [action["add"] for action in actions if _changes_data(action, "add")]
    if any(file.get("deletionVector") for file in files):
        raise DataError(f"{version}: uses deletion vectors; use a table that is only appended to")
    return [_added(file) for file in files]


def _added(action: dict[str, Any]) -> Added:
    told = json.loads(action.get("stats") or "{}")
    return Added(unquote(action["path"]), told.get("numRecords"), tuple(action.get("partitionValues", {}).items()))


def _changes_data(action: dict[str, Any], kind: str) -> bool:
    return kind in action and bool(action[kind].get("dataChange", True))
