"""`farwatch maintain`: tables are kept small and quick to open, and chains that no longer follow are listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jobs.epoch.chain import earliest
from jobs.epoch.context import Context
from jobs.lake.care import TableCare
from jobs.looking.printing import line, print_json, show, table
from jobs.looking.sealed_chain import chain_of, landed_of
from jobs.looking.staleness import Stale, stale_part
from jobs.terminal.wording import counted, number, size
from jobs.verbs.maintain import maintain as maintain_tables


def maintain(source: str, dry_run: bool, as_json: bool) -> None:
    """Looks at every table, does what is due unless it is a dry run, and says what that was."""
    context = Context.from_environment()
    stale = _stale(context, [source] if source else sorted(context.config.sources))
    found = maintain_tables(context.lake, dry_run)
    if as_json:
        print_json(_plain(found, stale, dry_run))
    else:
        _print(found, stale, dry_run)


def _stale(context: Context, sources: Sequence[str]) -> dict[str, Stale]:
    """By monitor, the part of its chain that no longer follows from its input."""
    chains: dict[str, Stale] = {}
    for name in sources:
        about = context.config.source(name)
        landed = landed_of(context.lake, name)
        for monitor in context.config.monitors_of(name):
            chain = chain_of(context.lake, name, monitor.name)
            part = stale_part(about, monitor.name, chain, landed, earliest(about, monitor))
            if part is not None:
                chains[monitor.name] = part
    return chains


def _plain(found: Sequence[TableCare], stale: dict[str, Stale], dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run, "tables": [one.plain for one in found],
        "stale": [
            {"monitor": monitor, "first": part.first, "why": part.why, "remedy": part.command}
            for monitor, part in sorted(stale.items())
        ],
    }  # fmt: skip


def _print(found: Sequence[TableCare], stale: dict[str, Stale], dry_run: bool) -> None:
    due = [one for one in found if one.is_due]
    if due:
        numbers = ("files", "size", "dead rows", "unneeded files", "their size")
        rows = table("table", *numbers, "put together", right=numbers)
        for one in due:
            together = f"{number(one.small)} into {number(one.into)}" if one.small else ""
            rows.add_row(
                one.table.name, number(one.files), size(one.bytes), number(one.dead_rows), number(one.unneeded),
                size(one.unneeded_bytes), together,
            )  # fmt: skip
        show(rows)
    saved = sum(one.unneeded_bytes for one in due)
    fewer = sum(one.small - one.into for one in due)
    dead = sum(one.dead_rows for one in due)
    does = "would take out" if dry_run else "took out"
    line(
        f"{counted(len(due), 'table')} of {len(found)} with something to do: {does}"
        f" {counted(dead, 'row')} that no seal lists, {counted(fewer, 'small file')}, and {size(saved)} of files"
        " on disk that no table needs"
        if due
        else f"nothing is due at {counted(len(found), 'table')}"
    )
    for monitor, part in sorted(stale.items()):
        line(f"{monitor}: {part.text}", style="yellow")
