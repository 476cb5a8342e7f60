"""An inspection as a person reads it, bounded; and as a machine does, whole."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jobs.looking import printing
from jobs.looking.inspection import Inspection
from jobs.terminal.wording import MOST_NAMES, counted, printable
from monitoring_lib.epochs import format_time

MOST_RECORDS = 40
MOST_PARTS = 20
LONGEST_TEXT = 120


def show(found: Inspection, as_json: bool) -> None:
    seal = found.epoch.seal
    if as_json:
        about = {
            "monitor": found.epoch.monitor.name, "epoch_start": format_time(seal.epoch_start),
            "revision": seal.revision, "method": found.method, "what": found.what,
        }  # fmt: skip
        printing.print_json(about | {"records": list(found.records)})
        return
    revision = f", revision {seal.revision}" if seal.revision else ""
    count = "" if found.what == "seal" else f", {found.method}: {_counted(found)}"
    printing.line(f"{found.epoch.monitor.name}, epoch {format_time(seal.epoch_start)}{revision}{count}", "bold")
    for record in found.records[:MOST_RECORDS]:
        for text in _lines(found.what, record):
            printing.line(text)
    if len(found.records) > MOST_RECORDS:
        printing.line(f"… and {len(found.records) - MOST_RECORDS:,} more; --node or --site picks one, --json gives all")


def _counted(found: Inspection) -> str:
    names = {"messages": "message", "state": "state", "answer": "row"}
    return counted(len(found.records), names[found.what])


def _lines(what: str, record: Mapping[str, Any]) -> Iterator[str]:
    if what == "messages":
        entries = "1 entry" if record["entries"] == 1 else f"{record['entries']:,} entries"
        why = f" ({record['reason']})" if record["reason"] else ""
        yield (
            f"round {record['round']}  {printable(record['sender'])} → {_receivers(record['receivers'])}"
            f"  {record['kind']}{why}, {entries}, {record['bytes']:,} B"
        )
        yield from _parts(record["content"], "  ")
    elif what == "state":
        yield f"{printable(record['node'])}: {record['kind']}"
        if record["certificate"]:
            yield f"  why its answer is valid: {record['certificate']}"
        yield from _parts(record["content"], "  ")
    elif what == "answer":
        yield "  ".join(f"{name} {_short(value)}" for name, value in record.items() if value is not None)
    else:
        yield from _parts(record, "")


def _receivers(nodes: Sequence[str]) -> str:
    shown = ", ".join(map(printable, nodes[:MOST_NAMES]))
    return f"{shown} and {len(nodes) - MOST_NAMES:,} more" if len(nodes) > MOST_NAMES else shown


def _parts(content: Mapping[str, Any], before: str) -> Iterator[str]:
    """One line a field; a long list or map shows its first parts and says how many follow."""
    for name, value in content.items():
        parts = list(value.items()) if isinstance(value, Mapping) else value
        if not isinstance(parts, list):
            yield f"{before}{name}: {_short(value)}"
            continue
        shown = ", ".join(_short(part) for part in parts[:MOST_PARTS])
        more = f", … and {len(parts) - MOST_PARTS:,} more" if len(parts) > MOST_PARTS else ""
        yield f"{before}{name} ({len(parts):,}): {shown}{more}"


def _short(value: Any) -> str:
    if isinstance(value, str):
        return printable(value, LONGEST_TEXT) or "''"
    if isinstance(value, list | tuple):
        return " ".join(map(_short, value))
    return printable(json.dumps(printing.plain(value), ensure_ascii=False), LONGEST_TEXT)
