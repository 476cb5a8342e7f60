"""The sets of queries that `benchmarks.aggregates` asks of every trace."""

from __future__ import annotations

from random import Random
from typing import Any

from benchmarks._aggregates_traces import Trace

Set = list[dict[str, Any]]


def cost_sets(trace: Trace) -> dict[str, Set]:
    """Those that all methods are compared by."""
    names, p = trace.objects, trace.precision
    half, third = names[: len(names) // 2], names[::3]
    return {
        "one mean": [{"name": "mean", "ask": "avg", "precision": str(p)}],
        "five overlapping": [
            {"name": "mean", "ask": "avg", "precision": str(2 * p)},
            {"name": "half", "ask": "sum", "objects": half, "precision": str(p * len(half))},
            {"name": "third", "ask": "avg", "objects": third, "precision": str(p / 2)},
            {"name": "few", "ask": "sum", "weights": {half[0]: 2, half[1]: -1, names[-1]: 1}, "precision": str(6 * p)},
            {"name": "high", "ask": "max", "objects": third, "precision": str(3 * p)},
        ],
    }  # fmt: skip


def promise_sets(trace: Trace) -> dict[str, Set]:
    """Those that the promise is shown for."""
    names, p, rng = trace.objects, trace.precision, Random(3)
    unequal = [
        {"name": f"p{at}", "ask": "avg", "objects": names[at::2], "precision": str(p * at * at)} for at in range(5)
    ]
    weights = {name: rng.choice(["-2.5", "-1", "0", "0.25", "3"]) for name in names[:20]}
    random = [_random(rng, names, p, f"q{number}") for number in range(200)]
    ends = [
        {"name": f"{ask}{size}", "ask": ask, "precision": str(p * size)} for ask in ("min", "max") for size in (0, 1, 4)
    ]
    return {
        **cost_sets(trace), "five unequal": unequal, "200 random": random, "min and max": ends,
        "weighted": [{"name": "balance", "ask": "sum", "weights": weights, "precision": str(20 * p)}],
        "precision 0 and none": [
            {"name": "exact", "ask": "sum", "objects": names[:5], "precision": 0}, {"name": "free", "ask": "avg"},
            {"name": "empty", "ask": "sum", "objects": [], "precision": 1}, {"name": "n", "ask": "count"},
        ],
    }  # fmt: skip


def _random(rng: Random, names: list[str], precision: float, name: str) -> dict[str, Any]:
    some = rng.sample(names, rng.randint(1, min(len(names), 30)))
    ask = rng.choice(["sum", "sum", "avg", "avg", "min", "max"])
    size = precision * rng.choice([0.5, 1, 5]) * (len(some) if ask == "sum" else 1)
    query: dict[str, Any] = {"name": name, "ask": ask, "precision": str(size)}
    if ask == "sum" and rng.random() < 0.5:
        query["weights"] = {object_: rng.choice(["1", "-1", "2", "0.5"]) for object_ in some}
    else:
        query["objects"] = some
    return query
