"""FM sketches against the distinct counters of Apache DataSketches."""

from __future__ import annotations

import datasketches

from benchmarks._measure import Case, Peer, Run, Workload
from benchmarks.kernel_cases._peers import BINCOUNT
from monitoring_lib.synopses.fm import FM
from monitoring_lib.synopses.fm_array import FmArray


def fm(workload: Workload) -> Run:
    items = workload.items

    def run() -> int:
        FM.of_size(1024).update(items)
        return len(items)

    return run


def fm_array(workload: Workload) -> Run:
    items, partners = workload.items[:1_000_000], workload.ticks[:1_000_000]

    def run() -> int:
        FmArray.of_size(3, 512, 16).update(items, partners)
        return len(items)

    return run


def hll(workload: Workload) -> Run:
    items = workload.prefix

    def run() -> int:
        sketch = datasketches.hll_sketch(12)
        for item in items:
            sketch.update(item)
        return len(items)

    return run


CASES = [
    Case(
        "FM, 1024 bitmaps",
        fm,
        (Peer("datasketches hll loop", hll), BINCOUNT),
        floor=14,
        aim=24,
    ),
    Case("FM array, 3 x 512 x 16, pairs", fm_array, (Peer("datasketches hll loop", hll),)),
]
