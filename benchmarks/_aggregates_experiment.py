"""The paper's experiments (sections 3.3 and 5) on their own axes: messages a tick against the queries' precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks._aggregates_runs import method, sent, table
from benchmarks._aggregates_traces import FOLDER, planetlab

Series = dict[str, NDArray[np.int64]]
Sites = dict[str, Series]

EPOCH = 10
"""Ticks: the paper's adjustment period."""
STEPS = 100
"""Of a value, in one unit: precisions below 1 then mean something."""


def walks(seed: int = 5, objects: int = 10, ticks: int = 4000) -> tuple[Sites, dict[str, float]]:
    """One walk a source, each with a step of its own, as in section 3.3; in hundredths."""
    rng = np.random.default_rng(seed)
    steps = {f"w{number}": float(rng.integers(10, 200)) / STEPS for number in range(objects)}
    moves = {name: rng.choice([-1, 1], ticks) * round(step * STEPS) for name, step in steps.items()}
    return {name: {name: np.cumsum(move)} for name, move in moves.items()}, steps


def ideal() -> str:
    """Figures 3 and 4: the adaptive protocol without the cost of its width messages, against the optimised widths."""
    sites, steps = walks()
    rng = Random(4)
    sets = [rng.sample(list(sites), rng.randint(2, 5)) for _ in range(5)]
    shares = [rng.random() for _ in range(5)]
    rows = []
    for most in (1, 2, 4, 8, 16):
        cells = [f"{most:g}"]
        one: list[dict[str, Any]] = [{"name": "q", "ask": "avg", "objects": list(sites), "precision": most}]
        five: list[dict[str, Any]] = [
            {"name": f"q{at}", "ask": "avg", "objects": some, "precision": str(round(most * share, 2))}
            for at, (some, share) in enumerate(zip(sets, shares, strict=True))
        ]
        for queries in (one, five):
            for name, options in (("text", {}), ("optimised", {"steps": steps}), ("uniform", {})):
                running = method(name, queries, EPOCH, STEPS, filter="recentre", **options)
                cells.append(f"{sent(running, sites, skip=40)['new-bounds']:.2f}")
        rows.append(cells)
    names = [
        f"{set_}: {name}" for set_ in ("one mean", "five means") for name in ("`text`", "`optimised`", "`uniform`")
    ]
    return table(["precision", *names], rows)


def many_hosts() -> str:
    """Figure 7: one mean over 200 hosts of one day; every message counts."""
    values = planetlab()
    chosen = np.random.default_rng(1).choice(len(values.columns), 200, replace=False)
    sites: Sites = {str(name): {str(name): values[name].to_numpy(np.int64)} for name in values.columns[np.sort(chosen)]}
    return _against_uniform(sites, (1, 2, 5, 10, 20, 40), lambda p: [{"name": "q", "ask": "avg", "precision": p}], 1)


def traffic(hours: int = 2) -> Sites:
    """Requests in the last minute at every second, by measurement group, at ten servers that share a web log.

    A group is the set of queries that a request belongs to: failed ones (Q1), all (Q2, Q5), images (Q3), pages (Q4).
    """
    rows = pd.read_csv(FOLDER / "nasa_http_1995-08-01.csv.gz")
    start = int(rows["time"].iloc[0]) + 8 * 3600
    rows = rows[(rows["time"] >= start - 60) & (rows["time"] < start + hours * 3600)]
    second = rows["time"].to_numpy() - (start - 60)
    server = pd.util.hash_array(rows["host"].to_numpy()) % 10
    items = rows["item"].astype(str).str.lower()
    flags = np.stack([rows["status"] >= 400, items.str.endswith(".gif"), items.str.endswith((".html", "/"))], axis=1)
    sites: Sites = {}
    for number in range(10):
        for group in np.unique(flags[server == number], axis=0):
            chosen = (server == number) & (flags == group).all(axis=1)
            counts = np.bincount(second[chosen], minlength=hours * 3600 + 60)
            window = np.convolve(counts, np.ones(60, np.int64))[60 : hours * 3600 + 60]
            label = "".join(str(int(flag)) for flag in group)
            sites.setdefault(f"server{number}", {})[f"server{number}/{label}"] = window.astype(np.int64)
    return sites


def traffic_queries(sites: Mapping[str, Mapping[str, Any]], precision: float) -> list[dict[str, Any]]:
    """Q1 to Q5, over the groups that belong to each; those of small volume are asked for more precisely."""
    names = [name for parts in sites.values() for name in parts]
    few = str(precision / 4)
    return [
        {"name": "Q1", "ask": "sum", "objects": [n for n in names if n[-3] == "1"], "precision": few},
        {"name": "Q2", "ask": "sum", "objects": names, "precision": str(precision)},
        {"name": "Q3", "ask": "sum", "objects": [n for n in names if n[-2] == "1"], "precision": few},
        {"name": "Q4", "ask": "sum", "objects": [n for n in names if n[-1] == "1"], "precision": few},
        {"name": "Q5", "ask": "avg", "objects": names, "precision": str(precision / len(names))},
    ]  # fmt: skip


def five_queries() -> str:
    """Figure 8: five overlapping queries over measurement groups; every message counts."""
    sites = traffic()
    return _against_uniform(sites, (10, 20, 40, 80, 160), lambda p: traffic_queries(sites, p), STEPS)


def _against_uniform(sites: Sites, precisions: Sequence[float], queries: Any, scale: int) -> str:
    paper = {"filter": "recentre"}
    runs: list[tuple[str, str, dict[str, Any]]] = [
        ("`uniform`", "uniform", paper), ("`text`", "text", paper), ("`quiet`", "quiet", paper),
        ("`waterfill`", "waterfill", paper), ("`waterfill`, `runs`", "waterfill", {"filter": "runs"}),
    ]  # fmt: skip
    if any(len(parts) > 1 for parts in sites.values()):
        runs.append(("`waterfill`, `runs`, `aggregate`", "waterfill", {"filter": "runs", "aggregate": True}))
    scaled = {site: {name: series * scale for name, series in parts.items()} for site, parts in sites.items()}
    rows = []
    for precision in precisions:
        cells = [f"{precision:g}"]
        for _, name, options in runs:
            running = method(name, queries(precision), EPOCH, scale, **options)
            cells.append(f"{sum(sent(running, scaled, skip=12).values()):.2f}")
        rows.append(cells)
    return table(["precision", *(label for label, _, _ in runs)], rows)
