"""The result of a SQL query as a person reads it, and as a machine does."""

from __future__ import annotations

import json
import math
from datetime import datetime
from itertools import islice
from typing import Any

from jobs.epoch.context import Context
from jobs.looking import printing
from jobs.looking.sql import QueryLimits, asked
from jobs.terminal.wording import printable

MOST_ROWS = 1000
LONGEST_CELL = 80


def show(context: Context, sql: str, as_json: bool, limits: QueryLimits) -> None:
    most = limits.rows if as_json else min(limits.rows, MOST_ROWS)
    with asked(context.lake, sql, limits) as (names, rows):
        shown = list(islice(rows, most))
        more = next(rows, None) is not None
    if as_json:
        printing.print_json({"columns": names, "rows": shown, "more": more})
        return
    if names == ["explain_key", "explain_value"]:
        for _, plan in shown:
            print(plan)
        return
    _print_table(names, shown)
    if more:
        told = "add a LIMIT, or take up to --limit rows with --json"
        printing.line(f"… the first {most:,} rows; {told}", "yellow")


def _print_table(names: list[str], rows: list[tuple[Any, ...]]) -> None:
    from rich.text import Text

    titles = [printable(name) for name in names]
    numeric = [all(isinstance(row[at], int | float | None) for row in rows) for at in range(len(names))]
    found = printing.table(*titles)
    for column, right in zip(found.columns, numeric, strict=True):
        column.justify = "right" if right and rows else "left"
    for row in rows:
        found.add_row(*(Text(cell(value)) for value in row))
    printing.show(found)


def cell(value: Any) -> str:
    """One value on one line; numbers as they are, so that they can be copied into the next query."""
    if value is None:
        return "NULL"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    found = printing.plain(value)
    if isinstance(value, datetime) or isinstance(found, str):
        return printable(found, LONGEST_CELL)
    return printable(json.dumps(found, ensure_ascii=False), LONGEST_CELL)
