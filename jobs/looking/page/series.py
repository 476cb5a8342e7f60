"""The answer over time: of each key its estimate, bounds, rank, and the exact value where an audit knows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.lake import column_list
from jobs.lake.conditions import RowCondition
from jobs.looking.page.shown import Shown, node_in_words
from monitoring_lib.epochs import format_time
from monitoring_lib.protocols import find_question
from monitoring_lib.tables import ANSWERS, VERDICTS

MOST_KEYS = 24
MOST_VIEWS = 40
_OF_THE_NUMBER = "(within bounds|holds a quantile)$"
"""How the verdicts are called whose exact value is that of the row's own number."""

Spot = tuple[int, str]
"""A tick and a key."""


def answers_over_time(shown: Shown) -> dict[str, Any]:
    """`times` are epochs, of a series its ticks; `series` names them by number. Of views, that of one node."""
    columns = ["epoch_start", "revision", "node", "tick", "key", "rank", "estimate", "low", "high", "partial"]
    rows = shown.current(_rows(shown, ANSWERS, columns))
    nodes: Counter[str] = Counter(dict(zip(*_counted(rows, "node"), strict=True)))
    if not nodes:
        return {"times": [], "series": [], "views": []}
    views = _views(rows) if len(nodes) > 1 else []
    one = views[0]["nodes"][0] if views else next(iter(nodes))
    rows = rows.filter(pc.equal(rows["node"], one))
    if find_question(shown.monitor.question).shape == "series":
        ticks = np.unique(rows["tick"].cast(pa.int64()).to_numpy())[-shown.most :]
        times, by = ticks.tolist(), "tick"
    else:
        times, by = shown.starts.tolist(), "epoch_start"
    exact = _exact(shown, one)
    found = _by_key(rows.sort_by("tick"), {time: at for at, time in enumerate(times)}, by)
    # A row without a rank among ranked ones is their total, beside which their lines would be flat.
    order = sorted(found, key=lambda key: (-max(found[key]), found[key][max(found[key])]["rank"] or np.inf, key))
    return {
        "times": [format_time(time) for time in times],
        "series": [_one(key, found[key], exact) for key in order[:MOST_KEYS]],
        "keys": len(order),
        "views": [view | {"nodes": [node_in_words(node) for node in view["nodes"]]} for view in views],
    }


def _rows(shown: Shown, table: Any, columns: Sequence[str]) -> pa.Table:
    conditions: list[RowCondition] = [
        ("monitor", "=", shown.monitor.name), ("method", "=", shown.monitor.method),
        ("epoch_start", ">=", int(shown.starts[0])),
    ]  # fmt: skip
    return shown.context.lake.centre.read(table, conditions, columns)


def _counted(rows: pa.Table, name: str) -> tuple[list[str], list[int]]:
    found = rows.group_by(name).aggregate([([], "count_all")])
    return found[name].to_pylist(), found["count_all"].to_pylist()


def _by_key(rows: pa.Table, at: Mapping[int, int], by: str) -> dict[str, dict[int, dict[str, Any]]]:
    """By key and time; of several ticks of one epoch the last counts."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    columns = [column_list(rows, name) for name in (by, "tick", "key", "rank", "estimate", "low", "high", "partial")]
    for time, tick, key, *rest in zip(*columns, strict=True):
        if time in at:
            names = ("rank", "estimate", "low", "high", "partial")
            found.setdefault(key, {})[at[time]] = {"tick": tick} | dict(zip(names, rest, strict=True))
    return found


def _one(key: str, found: Mapping[int, dict[str, Any]], exact: Mapping[Spot, float]) -> dict[str, Any]:
    positions = sorted(found)
    columns = {name: [_short(found[at][name]) for at in positions] for name in ("estimate", "low", "high", "rank")}
    known = {"exact": [_short(exact.get((found[at]["tick"], key))) for at in positions]}
    return {"key": key, "at": positions, "partial": [at for at in positions if found[at]["partial"]]} | columns | known


def _exact(shown: Shown, node: str) -> dict[Spot, float]:
    """What the audit found to be true; of verdicts that were given again the last."""
    columns = ["epoch_start", "revision", "node", "tick", "key", "promise", "exact"]
    rows = shown.current(_rows(shown, VERDICTS, columns))
    named = pc.match_substring_regex(rows["promise"], _OF_THE_NUMBER)
    rows = rows.filter(pc.and_(named, pc.equal(rows["node"], node)))
    spots = zip(*(column_list(rows, name) for name in ("tick", "key")), strict=True)
    return dict(zip(spots, rows["exact"].to_pylist(), strict=True))


def _views(rows: pa.Table) -> list[dict[str, Any]]:
    """Of the newest epoch, who sees which list; the view that most nodes share comes first."""
    last = rows.filter(pc.equal(rows["tick"], pc.max(rows["tick"]))).sort_by(
        [("node", "ascending"), ("rank", "ascending")]
    )
    lists: dict[str, list[str]] = {}
    for node, key in zip(last["node"].to_pylist(), last["key"].to_pylist(), strict=True):
        lists.setdefault(node, []).append(key)
    shared: dict[tuple[str, ...], list[str]] = {}
    for node, keys in lists.items():
        shared.setdefault(tuple(keys), []).append(node)
    order = sorted(shared.items(), key=lambda pair: (-len(pair[1]), pair[1]))
    return [{"nodes": nodes, "keys": list(keys[:MOST_KEYS])} for keys, nodes in order[:MOST_VIEWS]]


def _short(number: float | None) -> float | None:
    """Six digits are more than a chart shows; what is infinite has no end to draw."""
    if number is None or not np.isfinite(number):
        return None
    return float(f"{number:.6g}")
