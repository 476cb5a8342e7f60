"""A user's SQL over sealed rows: DuckDB without files, network or settings."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb

from jobs.lake import Lake
from jobs.lake.trouble import engine_trouble
from jobs.looking.sealed_views import SealedViews
from monitoring_lib.errors import DamagedTable, FarwatchError, StorageError, UsageError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "python_enable_replacements": False,
    "temp_directory": "",
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
}
_LOOKING = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN, duckdb.StatementType.MULTI}
"""PIVOT is several statements to DuckDB."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


_MEMORY = re.compile(r"[0-9]+(\.[0-9]+)? ?(KiB|MiB|GiB|TiB|KB|MB|GB|TB)")


@dataclass(frozen=True)
class QueryLimits:
    """What one query may take: rows that it gives, seconds, and memory."""

    rows: int = 10_000
    seconds: float = 60
    memory: str = "2GiB"

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise UsageError(f"--limit {self.rows}: write a number of rows, 1 or more")
        if not 0 < self.seconds <= threading.TIMEOUT_MAX:
            raise UsageError(f"--seconds {self.seconds:g}: write a number above 0")
        if not _MEMORY.fullmatch(self.memory):
            raise UsageError(f"--memory {self.memory!r}: write a size such as 512MiB or 2GiB")


@contextmanager
def asked(
    lake: Lake, sql: str, limits: QueryLimits | None = None
) -> Iterator[tuple[list[str], Iterator[tuple[Any, ...]]]]:  # fmt: skip
    """The columns and the rows of one SELECT over what is sealed; UsageError says what is wrong with it.

    It ends with an error once it has taken more time or memory than the limits say; who asks counts the rows.
    """
    limits = limits or QueryLimits()
    connection = duckdb.connect(config=_CLOSED | {"memory_limit": limits.memory})
    views = SealedViews(lake, connection, sql)
    done = threading.Event()
    watch = threading.Thread(target=_interrupt, args=(connection, done, limits.seconds), daemon=True)
    watch.start()
    try:
        _check(connection, sql)
        views.create()
        connection.execute("SET timezone = 'UTC'")
        connection.execute("SET lock_configuration = true")
        result = connection.execute(sql)
        yield [column[0] for column in result.description or ()], _rows(result)
    except duckdb.InterruptException as error:
        raise UsageError(
            f"--sql: not done after {limits.seconds:g} s; ask for less, or allow more by --seconds"
        ) from error
    except duckdb.OutOfMemoryException as error:
        raise UsageError(
            f"--sql: needs more memory than {limits.memory}; ask for less, or allow more by --memory"
        ) from error
    except duckdb.Error as error:
        raise _said(connection, views.refusal, error) from error
    finally:
        done.set()
        watch.join()
        connection.close()


def _interrupt(connection: DuckDBPyConnection, done: threading.Event, seconds: float) -> None:
    """Stops whatever runs after so long; again and again, as an interrupt between two statements is forgotten."""
    ended = done.wait(seconds)
    while not ended:
        connection.interrupt()
        ended = done.wait(0.1)


def _check(connection: DuckDBPyConnection, sql: str) -> None:
    kinds = [statement.type for statement in connection.extract_statements(sql)]
    if len(kinds) != 1 or kinds[0] not in _LOOKING:
        found = ", ".join(kind.name for kind in kinds) or "nothing"
        raise UsageError(f"--sql takes one SELECT (also DESCRIBE, SHOW TABLES, EXPLAIN); found {found}")


def _rows(result: DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while rows := result.fetchmany(1024):
        yield from rows


def _said(connection: DuckDBPyConnection, refusal: str, error: duckdb.Error) -> FarwatchError:
    """What is wrong with the SQL, or with the storage below it."""
    text, unread, _ = _COLOUR.sub("", str(error)).strip().partition(". Detail: Python exception")
    if refusal:
        return UsageError(f"--sql: {refusal}")
    if unread or isinstance(error, duckdb.IOException):
        told = engine_trouble(error)  # it finds the table, and whether trying again could help, in any engine's words
        return told if isinstance(told, DamagedTable) else StorageError(f"--sql: {text}")
    if isinstance(error, duckdb.CatalogException) and text.startswith("Catalog Error: Table with name"):
        known = [row[0] for row in connection.execute("SHOW TABLES").fetchall()]
        text = f"{text.splitlines()[0]} There are {', '.join(known)}"
    return UsageError(f"--sql: {text}")
