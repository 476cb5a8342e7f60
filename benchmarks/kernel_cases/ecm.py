"""ECM sketches: events in small and in large batches, over each kind of counter, and their merge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks._measure import PREFIX, Case, Peer, Prepare, Run, Workload
from benchmarks.kernel_cases._peers import BINCOUNT, count_min_loop
from monitoring_lib.synopses.ecm import EcmSketch, EcmWaveSketch, RandomisedEcmSketch

ERROR, CONFIDENCE, WINDOW, SITES = 0.1, 0.9, 1 << 20, 16
MERGE_ERROR = 0.051
"""Gives 3 rows of 56 columns."""


def _updates(make: Callable[[Workload], Any], batch: int, most: int | None = None) -> Prepare:
    def prepare(workload: Workload) -> Run:
        events = min(workload.events, most or workload.events)
        items, ticks = workload.items[:events], workload.ticks[:events]

        def run() -> int:
            sketch = make(workload)
            for start in range(0, events, batch):
                part = slice(start, start + batch)
                sketch.update(items[part], ticks=ticks[part])
            return events

        return run

    return prepare


def _histograms(workload: Workload) -> EcmSketch:
    return EcmSketch.for_error(ERROR, CONFIDENCE, WINDOW)


def _waves(workload: Workload) -> EcmWaveSketch:
    return EcmWaveSketch.for_error(ERROR, CONFIDENCE, WINDOW, workload.events)


def _randomised(workload: Workload) -> RandomisedEcmSketch:
    return RandomisedEcmSketch.for_error(ERROR, CONFIDENCE, WINDOW, coins=1)


def _for_merges(workload: Workload) -> EcmSketch:
    return EcmSketch.for_error(MERGE_ERROR, CONFIDENCE, WINDOW)


def _merge(workload: Workload) -> Run:
    sites = np.arange(workload.events) % SITES
    sketches = []
    for site in range(SITES):
        sketch = _for_merges(workload)
        sketch.update(workload.items[sites == site], ticks=workload.ticks[sites == site])
        sketches.append(sketch)
    edge = -WINDOW
    half_buckets = sum(int(sketch.counters.log(edge, edge)[1].sum()) for sketch in sketches)

    def run() -> int:
        EcmSketch.merge_all(sketches)
        return half_buckets

    return run


_LOOP = count_min_loop(3, 30)

CASES = [
    Case("ECM of histograms, batches of 4096", _updates(_histograms, 4096), (_LOOP, BINCOUNT), floor=4, aim=7),
    Case("ECM of histograms, batches of 1 M", _updates(_histograms, 10**6), (_LOOP, BINCOUNT), floor=8, aim=9.7),
    Case("ECM of waves, batches of 1 M", _updates(_waves, 10**6), (_LOOP, BINCOUNT), floor=8, aim=9.7),
    Case("ECM of randomised waves, batches of 1 M", _updates(_randomised, 10**6, PREFIX), (_LOOP,)),
    Case(
        "merge of 16 ECM sketches, 3 x 56",
        _merge,
        (Peer("an ECM update", _updates(_for_merges, 10**6)),),
        floor=10,
        aim=6.5,
        lower_is_better=True,
        unit="half-bucket",
    ),
]
