"""Peers that several kernels are compared with."""

from __future__ import annotations

import datasketches
import numpy as np
import pyarrow as pa

from benchmarks._measure import Peer, Run, Workload


def count_min_loop(depth: int, width: int) -> Peer:
    """Apache DataSketches' Count-Min, called once an item: what a user of Python has today. It has no window."""

    def prepare(workload: Workload) -> Run:
        items = workload.prefix

        def run() -> int:
            sketch = datasketches.count_min_sketch(depth, width)
            for item in items:
                sketch.update(item)
            return len(items)

        return run

    return Peer("datasketches count_min loop", prepare)


def _bincount(workload: Workload) -> Run:
    def run() -> int:
        np.bincount(workload.items)
        return workload.events

    return run


def _group_by(workload: Workload) -> Run:
    table = pa.table({"item": workload.items})

    def run() -> int:
        table.group_by("item", use_threads=False).aggregate([("item", "count")])
        return workload.events

    return run


BINCOUNT = Peer("np.bincount", _bincount)
GROUP_BY = Peer("pyarrow group_by", _group_by)
