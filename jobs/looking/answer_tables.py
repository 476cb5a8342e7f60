"""The rows of an answer as its question wants them shown: a ranked list, a number, rows, a series, views by node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jobs.looking import printing
from jobs.looking.answer import ShownAnswer
from jobs.terminal.wording import bounds, counted, listed, number, printable
from monitoring_lib.epochs import format_time, to_microseconds
from monitoring_lib.network import is_site, site_of_node

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

_MOST_ROWS = 50
_RIGHT = ("rank", "estimate", "low..high")

AnswerRows = Sequence[dict[str, Any]]


def answer_tables(look: ShownAnswer) -> Iterator[RenderableType]:
    """What is printed of the rows; of a long answer the first, or of a series the last."""
    shape = look.epoch.question.shape
    if not look.rows:
        yield "the answer of this epoch has no rows"
    elif shape == "series":
        yield from _series(look)
    elif shape == "views" and len({row["node"] for row in look.rows}) > 1:
        yield from _views(look)
    else:
        yield from _at_the_end(look)


def rows_at_the_end(rows: AnswerRows) -> list[dict[str, Any]]:
    """The rows that hold at the end; answers per tick have earlier ones beside them."""
    latest = max((row["tick"] for row in rows), default=None)
    return [row for row in rows if row["tick"] == latest]


def _at_the_end(look: ShownAnswer) -> Iterator[RenderableType]:
    shown = rows_at_the_end(look.rows)
    yield _table(shown[:_MOST_ROWS], look)
    if len(shown) > _MOST_ROWS:
        yield f"… and {len(shown) - _MOST_ROWS:,} more; --json gives all"
    if len(shown) < len(look.rows):
        yield f"at the epoch's end; {counted(len(look.rows) - len(shown), 'row')} of earlier ticks: --json gives all"


def _series(look: ShownAnswer) -> Iterator[RenderableType]:
    """Tick by tick, the last ones."""
    ordered = sorted(look.rows, key=lambda row: (row["tick"], row["node"], row["rank"] or 0, row["key"]))
    if len(ordered) > _MOST_ROWS:
        yield f"the last {_MOST_ROWS} of {len(ordered):,} rows; --json gives all"
    yield _table(ordered[-_MOST_ROWS:], look, ticks=True)


def _views(look: ShownAnswer) -> Iterator[RenderableType]:
    """The view that most nodes share, then who sees something else."""
    views: dict[tuple[Any, ...], list[str]] = {}
    rows = rows_at_the_end(look.rows)
    by_node: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_node.setdefault(row["node"], []).append(row)
    for node, own in sorted(by_node.items()):
        views.setdefault(tuple((row["rank"], row["key"]) for row in own), []).append(node)
    most, *others = sorted(views.values(), key=lambda nodes: (-len(nodes), nodes))
    yield _table(by_node[most[0]][:_MOST_ROWS], look)
    agree = f"{len(most):,} of {counted(len(by_node), 'node')} name these; the numbers are those of {_name(most[0])}"
    yield agree if others else f"all {agree.split(' of ', 1)[1]}"
    for nodes in others[:_MOST_ROWS]:
        shown = ", ".join(printable(row["key"], 16) for row in by_node[nodes[0]][:10])
        yield f"{listed([site_of_node(node) for node in nodes])}: {shown}"
    yield "--node SITE shows the view of one"


def _table(rows: AnswerRows, look: ShownAnswer | None = None, ticks: bool = False) -> Table:
    """The columns that these rows need."""
    from rich.text import Text

    since = None if look is None else look.since
    ranked = any(row["rank"] is not None for row in rows)
    nodes = len({row["node"] for row in rows}) > 1
    keys = any(row["key"] for row in rows)
    parts = any(row["partial"] for row in rows)
    titles = [
        *(["tick"] if ticks else []), *(["node"] if nodes else []), *(["rank"] if ranked else []),
        *(["item" if ranked else "key"] if keys else []), "estimate", "low..high",
        *(["since"] if ranked and since is not None else []), *(["partial"] if parts else []),
    ]  # fmt: skip
    found = printing.table(*titles, right=_RIGHT)
    for row in rows:
        stay = None if since is None else since.get((row["node"], row["key"]))
        cells = {
            "tick": format_time(to_microseconds(row["tick"])), "node": printable(_name(row["node"])),
            "rank": str(row["rank"] or ""), "item": printable(row["key"]), "key": printable(row["key"]),
            "estimate": number(row["estimate"]), "low..high": bounds(row["low"], row["high"]),
            "since": "" if stay is None else format_time(stay), "partial": "partial" if row["partial"] else "",
        }  # fmt: skip
        found.add_row(*(Text(cells[title]) for title in titles))
    return found


def bare_table(rows: AnswerRows) -> Table:
    """Rows that are no epoch's answer."""
    return _table(rows[:_MOST_ROWS], ticks=len({row["tick"] for row in rows}) > 1)


def _name(node: str) -> str:
    return site_of_node(node) if is_site(node) else node
