"""The promise of every variant over the first epochs of real traces, at every decay."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks._tree_traces import TRACES, Trace
from benchmarks.tree import DECAYS, run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("decay", DECAYS)
@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.name)
def test_no_epoch_of_a_real_trace_breaks_the_promise(traces: Path, trace: Trace, decay: str) -> None:
    if not (traces / trace.file).exists():
        pytest.skip(f"no trace {trace.file}")
    results = run(trace, decay, 3)
    assert {name: result.broken for name, result in results.items()} == dict.fromkeys(results, 0)
    assert all(result.verdicts for result in results.values())
