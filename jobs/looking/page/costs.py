"""What crossed the network: by epoch and method, by kind of message, by link, beside sending everything."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from jobs.lake import column_list
from jobs.lake.conditions import RowCondition
from jobs.looking.page.shown import Shown, node_in_words
from jobs.looking.sealed import find_epoch
from jobs.looking.traffic import loads_of, shipped_by_epoch
from monitoring_lib.tables import MESSAGES
from monitoring_lib.topology import Tree

MOST_LINKS = 60


def crossed(shown: Shown) -> dict[str, Any]:
    """Of the newest epochs: bytes by method and epoch, and all of them by method and kind."""
    seals, lake = shown.newest, shown.context.lake
    conditions: list[RowCondition] = [("monitor", "=", shown.monitor.name)]
    columns = ["epoch_start", "method", "kind", "entries", "bytes"]
    rows = lake.sealed(MESSAGES, seals, ["inbox", "messages"], conditions, columns)
    named = {(seal.writes.get("synopses"), seal.epoch_start) for seal in seals}
    shipped = shipped_by_epoch(lake, shown.source, shown.monitor, named)
    starts = [seal.epoch_start for seal in seals]
    return {
        "at": [shown.place[start] for start in starts],
        "methods": _by_method(shown, rows, starts),
        "shipping": [shipped.get(start, 0) for start in starts],
        "kinds": _by_kind(rows),
    }


def _by_method(shown: Shown, rows: pa.Table, starts: list[int]) -> dict[str, list[int]]:
    """Bytes of each epoch, the monitor's own method first; one that sent nothing has zeros."""
    found = {name: dict.fromkeys(starts, 0) for name in (shown.monitor.method, *shown.monitor.shadow)}
    sums = rows.group_by(["method", "epoch_start"]).aggregate([("bytes", "sum")])
    for method, start, count in zip(
        sums["method"].to_pylist(), column_list(sums, "epoch_start"), sums["bytes_sum"].to_pylist(), strict=True
    ):
        found.setdefault(method, dict.fromkeys(starts, 0))[start] = count
    return {method: list(counts.values()) for method, counts in found.items()}


def _by_kind(rows: pa.Table) -> list[dict[str, Any]]:
    grouped = rows.group_by(["method", "kind"]).aggregate([("entries", "sum"), ("bytes", "sum"), ("bytes", "count")])
    renamed = grouped.rename_columns({"entries_sum": "entries", "bytes_sum": "bytes", "bytes_count": "messages"})
    return list(renamed.sort_by([("method", "ascending"), ("bytes", "descending")]).to_pylist())


def links(shown: Shown) -> dict[str, Any] | None:
    """What each link of a tree carried in the newest epoch, the heaviest first; other networks have no load to show."""
    lake, epoch = shown.context.lake, find_epoch(shown.context, shown.monitor.name)
    if not isinstance(epoch.moment(lake, epoch.method()).topology, Tree):
        return None
    loads = loads_of(lake, epoch)
    heaviest = sorted(loads.entries, key=lambda link: (-loads.entries[link], link))
    return {
        "root": loads.root,
        "total": loads.total,
        "all": len(heaviest),
        "links": [
            {"child": node_in_words(link[0]), "parent": node_in_words(link[1]), "entries": loads.entries[link],
             "bytes": loads.bytes[link]}
            for link in heaviest[:MOST_LINKS]
        ],
    }  # fmt: skip
