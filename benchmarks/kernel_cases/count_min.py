"""Count-Min."""

from __future__ import annotations

from benchmarks._measure import Case, Run, Workload
from benchmarks.kernel_cases._peers import BINCOUNT, GROUP_BY, count_min_loop
from monitoring_lib.synopses._rows import HashRows
from monitoring_lib.synopses.count_min import CountMin


def _count_min(workload: Workload) -> Run:
    items = workload.items

    def run() -> int:
        CountMin.of_rows(HashRows(5, 2048, 0)).update(items)
        return workload.events

    return run


CASES = [Case("Count-Min 5 x 2048", _count_min, (count_min_loop(5, 2048), BINCOUNT, GROUP_BY), floor=10, aim=13)]
