"""What the page shows, as plain JSON: read from sealed rows, thinned so that its size does not grow with history."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jobs.epoch.context import Context
from jobs.lake.store import Condition
from jobs.looking import answer_report
from jobs.looking.answer import look
from jobs.looking.page.thinning import MOST_EPOCHS, shown_epochs
from jobs.looking.sealed_chain import SealedChain, chain_of
from jobs.looking.standing import MonitorStanding, SourceStanding, standing
from jobs.looking.traffic import shipped_by_epoch
from monitoring_lib.epochs import format_duration, format_time, to_microseconds
from monitoring_lib.protocols import find_question
from monitoring_lib.tables import ALERTS, ANSWERS, EPOCHS, MESSAGES, VALIDATIONS, VERDICTS

MOST_KEYS = 24
MOST_SITES = 60
MOST_ROWS = 200
"""Of each list: alerts, findings."""


def content(context: Context, only: Sequence[str] = ()) -> dict[str, Any]:
    """All monitors, or `only` these; sources with what waits and what was quarantined; alerts and findings."""
    sources = [standing(context, source) for _, source in sorted(context.config.sources.items())]
    monitors = [
        _monitor(context, source, one)
        for source in sources
        for one in source.monitors
        if not only or one.monitor.name in only
    ]
    return {
        "generated": format_time(int(time.time()) * 1_000_000),
        "sources": [_source(one) for one in sources],
        "monitors": monitors,
        "alerts": _newest(context, ALERTS, "raised_at", ("severity", "monitor", "epoch_start", "subject", "detail")),
        "findings": [
            row for row in _newest(context, VALIDATIONS, "checked_at",
                                   ("severity", "monitor", "epoch_start", "step", "expectation", "site", "observed",
                                    "detail", "success"))
            if not row["success"]
        ],
    }  # fmt: skip


def _source(found: SourceStanding) -> dict[str, Any]:
    return {
        "name": found.source.name, "epoch": format_duration(found.source.epoch), "landings": found.landings,
        "last_landed": None if found.last_landed is None else format_time(found.last_landed),
        "waiting": len(found.waiting), "quarantined": found.quarantined, "trouble": found.no_look,
    }  # fmt: skip


def _monitor(context: Context, source: SourceStanding, found: MonitorStanding) -> dict[str, Any]:
    monitor = found.monitor
    plain: dict[str, Any] = {
        "name": monitor.name, "title": monitor.title or monitor.name, "source": source.source.name,
        "question": monitor.question, "method": monitor.method, "shadows": list(monitor.shadow),
        "shape": find_question(monitor.question).shape, "epoch_seconds": source.source.epoch / 1e6,
        "behind": found.behind, "sealed": found.epochs, "revised": found.revised,
    }  # fmt: skip
    if found.last is None:
        return plain | {"now": None}
    now = look(context, monitor.name)
    chain = chain_of(context.lake, source.source.name, monitor.name)
    shown = shown_epochs(chain.starts)
    return plain | {
        "now": answer_report.to_plain(now) | {"text": answer_report.lines(now)},
        "epochs": [format_time(int(start)) for start in shown],
        "thinned": len(chain) > len(shown),
        "series": _series(context, monitor.name, monitor.method, chain, shown),
        "traffic": _traffic(context, source, found, chain, shown),
        "coverage": _coverage(context, source.source.name, monitor.name, shown),
        "verdicts": _verdicts(context, monitor.name, shown),
        "kinds": _kinds(context, monitor.name, shown),
    }


def _series(
    context: Context, monitor: str, method: str, chain: SealedChain, shown: NDArray[np.int64]
) -> list[dict[str, Any]]:
    """The published rows of each key, one an epoch (its last tick), for the keys of the newest epochs."""
    rows = context.lake.centre.read(
        ANSWERS, [("monitor", "=", monitor), ("epoch_start", ">=", int(shown[0]))],
        ["epoch_start", "revision", "node", "tick", "key", "rank", "estimate", "low", "high", "partial", "method"],
    )  # fmt: skip
    current = dict(zip(chain.starts.tolist(), chain.column("revision"), strict=True))
    at = {int(start): place for place, start in enumerate(shown.tolist())}
    by_key: dict[str, dict[int, dict[str, Any]]] = {}
    node = None
    for row in (
        rows.filter(pc.equal(rows["method"], method))
        .sort_by([("tick", "ascending"), ("node", "ascending")])
        .to_pylist()
    ):
        start = to_microseconds(row["epoch_start"])
        node = node or row["node"]
        if start in at and row["revision"] == current.get(start) and row["node"] == node:
            by_key.setdefault(row["key"], {})[at[start]] = row
    ranked = sorted(by_key, key=lambda key: (-max(by_key[key]), by_key[key][max(by_key[key])]["rank"] or 0, key))
    return [_one_series(key, by_key[key]) for key in ranked[:MOST_KEYS]]


def _one_series(key: str, found: Mapping[int, dict[str, Any]]) -> dict[str, Any]:
    places = sorted(found)
    columns = {name: [_short(found[place][name]) for place in places] for name in ("estimate", "low", "high", "rank")}
    return {"key": key, "at": places, "partial": [p for p in places if found[p]["partial"]]} | columns


def _short(number: float | None) -> float | None:
    """Six digits are more than a chart shows; what is infinite has no end to draw."""
    if number is None or not np.isfinite(number):
        return None
    return float(f"{number:.6g}")


def _traffic(
    context: Context, source: SourceStanding, found: MonitorStanding, chain: SealedChain, shown: NDArray[np.int64]
) -> dict[str, Any]:
    wanted = np.searchsorted(chain.starts, shown)
    sent = chain.counts("message_bytes")[wanted]
    assert found.last is not None
    writes = chain.writes("synopses")
    named = {(writes[place], int(chain.starts[place])) for place in wanted.tolist()}
    shipped = shipped_by_epoch(context.lake, source.source, found.monitor, named)
    return {"bytes": sent.tolist(), "shipping": [shipped.get(int(start), 0) for start in shown.tolist()]}


def _coverage(context: Context, source: str, monitor: str, shown: NDArray[np.int64]) -> dict[str, Any]:
    """Which sites were missing in which epochs, those that were missing most first; revisions with their reasons."""
    conditions: list[Condition] = [
        ("source", "=", source),
        ("monitor", "=", monitor),
        ("epoch_start", ">=", int(shown[0])),
    ]
    columns = ["epoch_start", "revision", "missing_sites", "reason", "config_digest", "counts"]
    rows = context.lake.centre.read(EPOCHS, conditions, columns).sort_by("revision").to_pylist()
    at = {int(start): place for place, start in enumerate(shown.tolist())}
    last = {to_microseconds(row["epoch_start"]): row for row in rows}
    missing: Counter[str] = Counter(site for row in last.values() for site in row["missing_sites"])
    sites = [site for site, _ in missing.most_common(MOST_SITES)]
    number = {site: place for place, site in enumerate(sites)}
    cells = [
        [at[start], number[site]] for start, row in sorted(last.items()) if start in at
        for site in row["missing_sites"] if site in number
    ]  # fmt: skip
    revised = [
        {"at": at[start], "revision": row["revision"], "reason": row["reason"]}
        for start, row in sorted(last.items())
        if start in at and row["reason"]
    ]
    configs = [row["config_digest"] for _, row in sorted(last.items())]
    starts = sorted(last)
    changed = [at[s] for s, new, old in zip(starts[1:], configs[1:], configs, strict=False) if new != old and s in at]
    return {"sites": sites, "missing": cells, "all_missing": len(missing), "revised": revised, "changed": changed}


def _verdicts(context: Context, monitor: str, shown: NDArray[np.int64]) -> dict[str, Any]:
    """By epoch, how many promises the audit found kept, of how many."""
    conditions: list[Condition] = [("monitor", "=", monitor), ("epoch_start", ">=", int(shown[0]))]
    rows = context.lake.centre.read(VERDICTS, conditions, ["epoch_start", "kept"])
    if not rows.num_rows:
        return {"at": [], "kept": [], "of": []}
    grouped = rows.set_column(1, "kept", rows["kept"].cast(pa.int64())).group_by("epoch_start")
    sums = grouped.aggregate([("kept", "sum"), ("kept", "count")]).sort_by("epoch_start")
    at = {int(start): place for place, start in enumerate(shown.tolist())}
    starts = [to_microseconds(start) for start in sums["epoch_start"].to_pylist()]
    cells = [
        (at[start], kept, of)
        for start, kept, of in zip(starts, sums["kept_sum"].to_pylist(), sums["kept_count"].to_pylist(), strict=True)
        if start in at
    ]
    return {name: [cell[place] for cell in cells] for place, name in enumerate(("at", "kept", "of"))}


def _kinds(context: Context, monitor: str, shown: NDArray[np.int64]) -> list[dict[str, Any]]:
    """What crossed in the last epochs, by method and kind of message."""
    first = int(shown[max(0, len(shown) - MOST_EPOCHS // 10)])
    conditions: list[Condition] = [("monitor", "=", monitor), ("epoch_start", ">=", first)]
    rows = context.lake.centre.read(MESSAGES, conditions, ["method", "kind", "entries", "bytes"])
    if not rows.num_rows:
        return []
    grouped = rows.group_by(["method", "kind"]).aggregate([("entries", "sum"), ("bytes", "sum"), ("bytes", "count")])
    renamed = grouped.rename_columns({"entries_sum": "entries", "bytes_sum": "bytes", "bytes_count": "messages"})
    return list(renamed.sort_by([("method", "ascending"), ("bytes", "descending")]).to_pylist())


def _newest(context: Context, table: Any, by: str, columns: Sequence[str]) -> list[dict[str, Any]]:
    rows = context.lake.centre.read(table, (), [*columns, by]).sort_by([(by, "descending")]).slice(0, MOST_ROWS)
    return [
        {
            name: format_time(to_microseconds(value)) if hasattr(value, "tzinfo") else value
            for name, value in row.items()
        }
        for row in rows.to_pylist()
    ]
