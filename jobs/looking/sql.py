"""A user's SQL over sealed rows: DuckDB without files, network or settings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import duckdb

from jobs.lake import Lake
from jobs.looking.sealed_views import SealedViews
from monitoring_lib.errors import FarwatchError, StorageError, UsageError

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


@contextmanager
def asked(lake: Lake, sql: str) -> Iterator[tuple[list[str], Iterator[tuple[Any, ...]]]]:
    """The columns and the rows of one SELECT over what is sealed; UsageError says what is wrong with it."""
    connection = duckdb.connect(config=_CLOSED)
    views = SealedViews(lake, connection, sql)
    try:
        _check(connection, sql)
        views.create()
        connection.execute("SET timezone = 'UTC'")
        connection.execute("SET lock_configuration = true")
        result = connection.execute(sql)
        yield [column[0] for column in result.description or ()], _rows(result)
    except duckdb.Error as error:
        raise _said(connection, views.refusal, error) from error
    finally:
        connection.close()


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
        return StorageError(f"--sql: {text}")
    if isinstance(error, duckdb.CatalogException) and text.startswith("Catalog Error: Table with name"):
        known = [row[0] for row in connection.execute("SHOW TABLES").fetchall()]
        text = f"{text.splitlines()[0]} There are {', '.join(known)}"
    return UsageError(f"--sql: {text}")
