"""A million requests to one of Twitter's caches: every item's estimate within its bound, in less memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks._memory import CONFIDENCE, SPANS, WINDOW, footprint, read_twitter
from monitoring_lib.synopses.ecm import EcmSketch

Trace = tuple[np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def trace(traces: Path) -> Trace:
    return read_twitter(traces)


@pytest.mark.parametrize(("error", "times_smaller"), [(0.05, 12), (0.02, 3)])
def test_every_estimate_is_within_its_bound_and_the_sketch_is_smaller(
    trace: Trace, error: float, times_smaller: int
) -> None:
    found = footprint(*trace, error)
    assert found.asked == len(SPANS) * 143_542
    assert found.outside == 0
    assert found.largest_error <= error
    assert times_smaller * found.sketch_bytes < found.exact_bytes


def test_the_sites_of_a_tree_answer_for_the_whole_trace(trace: Trace) -> None:
    items, ticks = trace
    sites = items % np.uint64(8)
    sketches = []
    for site in range(8):
        sketch = EcmSketch.for_error(0.05, CONFIDENCE, WINDOW, merge_levels=2)
        sketch.update(items[sites == site], ticks=ticks[sites == site])
        sketches.append(sketch)
    root = EcmSketch.merge_all([EcmSketch.merge_all(sketches[:4]), EcmSketch.merge_all(sketches[4:])])
    names, numbers = np.unique(items, return_inverse=True)
    for span in SPANS:
        inside = ticks > ticks[-1] - span
        exact = np.bincount(numbers[inside], minlength=len(names))
        low, high = root.bounds(names, span)
        assert ((low <= exact) & (exact <= high)).all()
        assert (abs(root.estimates(names, span) - exact) <= 0.05 * inside.sum()).all()
