"""Counters of frequent items against those of Apache DataSketches and against counting everything."""

from __future__ import annotations

import datasketches

from benchmarks._measure import Case, Peer, Run, Workload
from benchmarks.kernel_cases._peers import GROUP_BY
from monitoring_lib.synopses.lossy_counting import LossyCounting
from monitoring_lib.synopses.misra_gries import MisraGries

TOLERANCE = 0.001


def lossy_counting(workload: Workload) -> Run:
    items = workload.items

    def run() -> int:
        LossyCounting(tolerance=TOLERANCE).update(items)
        return len(items)

    return run


def misra_gries(workload: Workload) -> Run:
    items = workload.items

    def run() -> int:
        MisraGries.for_error(TOLERANCE).update(items)
        return len(items)

    return run


def frequent_items(workload: Workload) -> Run:
    items = workload.prefix

    def run() -> int:
        sketch = datasketches.frequent_items_sketch(12)  # an error of 3.5 / 4096: the same tolerance
        for item in items:
            sketch.update(item)
        return len(items)

    return run


PEERS = (Peer("datasketches frequent_items loop", frequent_items), GROUP_BY)
CASES = [
    Case("lossy counting, tolerance 0.001", lossy_counting, PEERS, floor=9, aim=11.5),
    Case("Misra-Gries, 999 counters", misra_gries, PEERS),
]
