"""The promise of every method, and what margins sends, over the first epochs of real traces."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from benchmarks._topk_traces import TRACES, Trace
from benchmarks.topk import METHODS, Case, run
from monitoring_lib.synopses.counts import Counts

pytestmark = pytest.mark.slow

BY_NAME = {trace.name: trace for trace in TRACES}


@cache
def epochs_of(trace: Trace) -> list[dict[str, Counts]]:
    return list(trace.epochs())


def case(traces: Path, name: str, epochs: int, window: int | None, tolerance: int) -> Case:
    trace = BY_NAME[name]
    if not (traces / trace.file).exists():
        pytest.skip(f"no trace {trace.file}")
    return run(trace, epochs_of(trace)[:epochs], window, tolerance)


@pytest.mark.parametrize("tolerance", [0, 50])
@pytest.mark.parametrize(("name", "epochs", "window"), [("flights", 5, None), ("flights", 9, 3), ("zeek", 40, 5)])
def test_every_verdict_is_kept(traces: Path, name: str, epochs: int, window: int | None, tolerance: int) -> None:
    found = case(traces, name, epochs, window, tolerance)
    assert {method: cost.broken for method, cost in found.costs.items()} == dict.fromkeys(METHODS, 0)
    assert all(cost.verdicts > epochs for cost in found.costs.values())


def test_margins_sends_less_than_caching_where_items_come_back(traces: Path) -> None:
    found = case(traces, "zeek", 1000, None, 0)
    assert not found.missed()
    assert found.part("margins") < 0.8
