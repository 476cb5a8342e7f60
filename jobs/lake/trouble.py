"""The error that a user sees when a table cannot be opened, read or written: which one, why, and what to do.

The engines tell trouble apart in words only. What trying again cannot mend is never said to be worth trying again.
"""

from __future__ import annotations

import re

from monitoring_lib.errors import (
    CheckFailed,
    DamagedTable,
    FarwatchError,
    SparkUnavailable,
    StorageError,
    Transient,
    UsageError,
)
from monitoring_lib.tables import TABLES

_FULL = (
    "No space left on device", "os error 28", "Disk quota exceeded", "StorageFull", "File too large", "os error 27",
)  # fmt: skip
_FORBIDDEN = (
    "Read-only file system", "os error 30", "Permission denied", "os error 13", "PermissionDenied", "AccessDenied",
    "AccessControlException",
)  # fmt: skip
_OTHER_SCHEMA = (
    "No field named", "FieldNotFound", "Schema error", "SchemaMismatch", "schema mismatch", "not in schema",
    "Cannot cast schema", "DELTA_FAILED_TO_MERGE_FIELDS", "UNRESOLVED_COLUMN", "field names don't match",
)  # fmt: skip
_DAMAGED = (
    "Invalid Checkpoint", "Object at location", "not found: No such file", "Invalid table version", "MissingVersion",
    "Parquet error", "Failed to parse", "Invalid JSON", "InvalidJson", "corrupt", "Corrupt", "FILE_NOT_EXIST",
    "FileNotFoundException", "DELTA_LOG_FILE_NOT_FOUND", "DELTA_VERSIONS_NOT_CONTIGUOUS", "DELTA_STATE_RECOVER",
    "DELTA_TRUNCATED_TRANSACTION_LOG", "CANNOT_READ_FILE", "is not a Parquet file", "DELTA_FILE_NOT_FOUND",
    "Malformed", "log segment", "ChecksumException",
)  # fmt: skip
_LOST_COMMIT = re.compile(r"(FAILED_READ_FILE|FileNotFound|FILE_NOT_EXIST).*_delta_log/\d{20}\.json", re.DOTALL)
"""Spark keeps in mind what a table's log held."""
_GONE = ("UNAVAILABLE", "Connection refused", "Connection reset", "Socket closed", "failed to connect to all")
_PERMANENT = (
    "PythonException", "AnalysisException", "ParseException", "ArithmeticException", "IllegalArgumentException",
    "UnsupportedOperationException",
)  # fmt: skip
"""Errors of Spark that come again whenever the same is tried."""
_RAISED = re.compile(r"^[\w.]+(Error|Exception|Failed|Table)\b")
_DATA_FILE = re.compile(
    r"((?:[a-z0-9]+:)?/[^\s'\"]*/(?:{}))/(?:day=[^/\s]+/)?(?:part-|_delta_log)".format("|".join(TABLES))
)
_COLOURS = re.compile("\x1b\\[[0-9;]*m")


def trouble(location: str, done: str, error: Exception) -> FarwatchError:
    """The error to raise for one that an engine raised over the table at `location`."""
    text = _COLOURS.sub("", str(error))
    name = location.rstrip("/").rpartition("/")[2]
    if _any(_FULL, text):
        return StorageError(
            f"{location} cannot be {done}: the disk is full, or no file may grow so large. Free space, or raise the"
            " limit, then run the command again"
        )
    if _any(_FORBIDDEN, text):
        return UsageError(
            f"{location} cannot be {done}: this user may not, or the disk is mounted read-only ({_short(text)})."
            " Give the right to, then run the command again"
        )
    if _any(_OTHER_SCHEMA, text):
        return UsageError(
            f"{location}: the table `{name}` has other columns than this release of Farwatch gives it ({_short(text)})."
            " It was made by an older one: go on with that, or begin anew in another `storage` folder"
        )
    if _LOST_COMMIT.search(text):
        return DamagedTable(
            f"{location}: the table `{name}` is damaged: a commit of its log is gone, and the Spark server still counts"
            " on it. Restore it from a copy, or start Spark anew (`farwatch down`, then `farwatch up`); what needs the"
            " lost rows then says how they are made again"
        )
    if _any(_DAMAGED, text):
        return DamagedTable(
            f"{location}: the table `{name}` is damaged ({_short(text)}). Restore it from a copy, or put its log"
            f" right by `farwatch repair {name}`: what needs the lost rows then says how they are made again"
        )
    return StorageError(f"{location} cannot be {done}: {_short(text)}")


def engine_trouble(error: Exception, location: str = "") -> FarwatchError:
    """The error to raise for one of Spark's, or of another engine that names the files it read.

    `location` is the table that it worked on, where that is known.
    """
    text = str(error)
    if _any(_GONE, text):
        return SparkUnavailable(
            f"the Spark Connect server does not answer any more ({_short(text, 150)}). One that `farwatch up` has"
            " started comes up again by itself; then run the command again"
        )
    if "UNAUTHENTICATED" in text or "authentication token" in text:
        return UsageError(
            "the Spark Connect server refuses our token. It makes a new one whenever it starts: take the address anew"
            " from the one that started it"
        )
    if type(error).__name__ == "PythonException":
        text = next((line for line in reversed(text.splitlines()) if _RAISED.match(line)), text)
    read = _DATA_FILE.search(text)
    where = location or (read[1] if read else "")
    if not where and not _any((*_FULL, *_FORBIDDEN), text):
        kind = CheckFailed if type(error).__name__ in _PERMANENT else Transient
        return kind(f"Spark failed: {_short(text)}")
    return trouble(where or "Spark's scratch folder", "read or written", Exception(text))


def _any(signs: tuple[str, ...], text: str) -> bool:
    return any(sign in text for sign in signs)


def _short(text: str, longest: int = 400) -> str:
    """On one line: the engines draw trees, and Java adds where it was."""
    line = " ".join(text.partition("\n\tat ")[0].partition("JVM stacktrace")[0].split())
    return line if len(line) <= longest else line[:longest] + "…"
