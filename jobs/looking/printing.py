"""Standard output of the commands that look: a table for people, JSON for machines."""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from monitoring_lib.epochs import format_time, to_microseconds

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

_LONGEST_LINE = 400


@cache
def output_console() -> Console:
    """Colours on a terminal only; where there is none, no column is cut to a width."""
    from rich.console import Console

    _take_any_name()
    width = None if sys.stdout.isatty() else _LONGEST_LINE
    return Console(highlight=False, soft_wrap=True, width=width, emoji=False)


def show(*parts: RenderableType) -> None:
    for part in parts:
        output_console().print(part, markup=False)


def lines_of(parts: Iterable[RenderableType]) -> list[str]:
    """What `show` would print where there is no terminal, line by line."""
    from rich.console import Console

    paper = io.StringIO()
    own = Console(file=paper, highlight=False, soft_wrap=True, width=_LONGEST_LINE)
    for part in parts:
        own.print(part, markup=False)
    return [written.rstrip() for written in paper.getvalue().splitlines()]


def line(text: str, style: str = "") -> None:
    """One line; what comes out of data is never read as markup or names of emoji."""
    output_console().print(text, style=style, markup=False)


def table(*columns: str, right: Sequence[str] = ()) -> Table:
    """A plain table with these titles, those named in `right` aligned to the right."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left")
    return made


def print_json(content: Any) -> None:
    _take_any_name()
    print(json.dumps(plain(content), ensure_ascii=False, allow_nan=False))


def plain(value: Any) -> Any:
    """The same content in JSON's types: times as ISO 8601, bytes in hex, numbers without end as null."""
    match value:
        case float() if not math.isfinite(value):
            return None
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {key if isinstance(key, str) else str(plain(key)): plain(part) for key, part in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(part) for part in value]
        case bytes() | bytearray() | memoryview():
            return bytes(value).hex()
        case datetime() if value.tzinfo is not None:
            return format_time(to_microseconds(value))
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Decimal() if value.is_finite():
            return int(value) if value == value.to_integral_value() else float(value)
    return str(value)


def _take_any_name() -> None:
    """A terminal that cannot spell a name gets its escape instead of an error."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
