"""Distinct samples against the theta sketch of Apache DataSketches, which samples too but does not count."""

from __future__ import annotations

import datasketches

from benchmarks._measure import Case, Peer, Run, Workload
from monitoring_lib.synopses.distinct_sample import DistinctSample


def sample(workload: Workload) -> Run:
    items = workload.items

    def run() -> int:
        DistinctSample(1000).update(items)
        return len(items)

    return run


def theta(workload: Workload) -> Run:
    items = workload.prefix

    def run() -> int:
        sketch = datasketches.update_theta_sketch(10)
        for item in items:
            sketch.update(item)
        return len(items)

    return run


CASES = [Case("distinct sample of 1000", sample, (Peer("datasketches theta loop", theta),), floor=15, aim=24)]
