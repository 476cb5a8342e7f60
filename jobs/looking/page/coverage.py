"""Which sites took part in which epochs; where epochs were sealed anew or under another configuration."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from jobs.epoch.decisions import decisions_of
from jobs.lake import Lake, column_list
from jobs.lake.conditions import RowCondition
from jobs.looking.page.shown import Shown
from monitoring_lib.tables import ARRIVALS, EPOCHS

MOST_SITES = 1_000
SILENT, OWED, REJECTED = 0, 1, 2
"""What a missing site's epoch is: without a row, with rows that wait for a decision, with rows that are left out."""


def coverage(shown: Shown) -> dict[str, Any]:
    """`missing` are [epoch, site, kind]: those sites first that were missing most, then all others by name."""
    rows = _seals(shown)
    kinds = _kinds(shown, rows)
    counts: dict[str, int] = {}
    for row in rows.values():
        for site in row["missing_sites"]:
            counts[site] = counts.get(site, 0) + 1
    ever = sorted(counts, key=lambda site: (-counts[site], site))
    sites = [*ever, *(site for site in shown.chain.sites if site not in counts)][:MOST_SITES]
    number = {site: at for at, site in enumerate(sites)}
    ordered = sorted(rows.items())
    return {
        "sites": sites,
        "known": len(shown.chain.sites),
        "ever_missing": len(ever),
        "missing": [
            [shown.place[start], number[site], kinds.get((start, site), SILENT)]
            for start, row in ordered for site in row["missing_sites"] if site in number
        ],
        "joined": [
            [shown.place[start], number[site]] for start, row in ordered[1:]
            for site in row["joined_sites"] if site in number
        ],
        "revised": [
            {"at": shown.place[start], "revision": row["revision"], "reason": row["reason"]}
            for start, row in ordered if row["reason"]
        ],
        "changed": [
            shown.place[start] for (_, before), (start, row) in pairwise(ordered)
            if row["config_digest"] != before["config_digest"]
        ],
    }  # fmt: skip


def _seals(shown: Shown) -> dict[int, dict[str, Any]]:
    """By start, the current seals of the shown epochs."""
    conditions: list[RowCondition] = [
        ("source", "=", shown.source.name), ("monitor", "=", shown.monitor.name),
        ("epoch_start", ">=", int(shown.starts[0])),
    ]  # fmt: skip
    columns = ["epoch_start", "revision", "missing_sites", "joined_sites", "reason", "config_digest"]
    rows = shown.current(shown.context.lake.centre.read(EPOCHS, conditions, columns))
    return dict(zip(column_list(rows, "epoch_start"), rows.to_pylist(), strict=True))


def _kinds(shown: Shown, rows: Mapping[int, dict[str, Any]]) -> dict[tuple[int, str], int]:
    """Of each missing site's epoch that has rows, whether they are owed or rejected."""
    gaps = [start for start, row in rows.items() if row["missing_sites"]]
    if not gaps:
        return {}
    lake, source = shown.context.lake, shown.source.name
    span: list[RowCondition] = [("epoch_start", ">=", min(gaps)), ("epoch_start", "<=", max(gaps))]
    rejected = {(one.epoch_start, one.site) for one in decisions_of(lake, source, span) if one.verdict == "rejected"}
    return {
        (start, site): REJECTED if (start, site) in rejected else OWED
        for start, site in _with_rows(lake, source, span)
        if start in rows and site in rows[start]["missing_sites"]
    }


def _with_rows(lake: Lake, source: str, span: list[RowCondition]) -> set[tuple[int, str]]:
    found = lake.centre.read(ARRIVALS, [("source", "=", source), *span], ["epoch_start", "site", "events"])
    cells = zip(*(column_list(found, name) for name in ("epoch_start", "site", "events")), strict=True)
    return {(start, site) for start, site, events in cells if events}
