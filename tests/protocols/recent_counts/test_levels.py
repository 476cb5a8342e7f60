"""Errors after merges: stated, and never exceeded, through any number of levels."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from monitoring_lib.codec import Names
from monitoring_lib.protocols.recent_counts.merged import Merged
from monitoring_lib.protocols.recent_counts.merged.design import Design
from monitoring_lib.protocols.recent_counts.merged.log import Log
from monitoring_lib.protocols.recent_counts.merged.sketches import Sketches, merged
from monitoring_lib.protocols.recent_counts.merged.view import MergedView
from monitoring_lib.tick_counts import TickCounts
from monitoring_lib.topology import Tree
from tests.protocols.recent_counts.driver import Driver, ask, certainly_kept, rows
from tests.synopses.test_window_merge import CUTOFF, after_cutoff, overstated, overstated_merge, replayed_before

X = [{"name": "x", "point": "x", "range": "1000s"}]


@pytest.mark.parametrize("counter", ["eh", "dw", "rw"])
@pytest.mark.parametrize("levels", [1, 2, 4, 8])
def test_a_merged_count_is_within_the_stated_error_through_all_levels(counter: str, levels: int) -> None:
    """One item: no collisions, so that the error is that of the counters, which always holds for eh and dw."""
    error, rng = 0.5 if counter == "rw" else 0.2, Random(f"{counter}{levels}")
    ranges = [{"name": f"{span}", "point": "x", "range": f"{span}s"} for span in (1, 3, 7, 12, 19, 30)]
    driver = Driver(Merged(ask(ranges, error=error, counter=counter, levels=levels)))
    exact: dict[int, int] = {}
    worst = 0.0
    for epoch in range(4):
        events = [
            (f"site {rng.randrange(24)}", 10 * epoch + min(9, int(rng.expovariate(0.4))), "x") for _ in range(700)
        ]
        for _, tick, _ in events:
            exact[tick] = exact.get(tick, 0) + 1
        step = driver.step(events)
        assert isinstance(step.moment.topology, Tree) == (levels > 1)
        assert step.moment.topology.depth == levels
        assert certainly_kept(step)
        for name, row in rows(step).items():
            true = sum(count for tick, count in exact.items() if 10 * epoch + 10 - int(name) <= tick)
            worst = max(worst, abs(row.estimate - true) / true)
            assert row.low <= true <= row.high
    assert worst <= error
    assert worst > 0 or counter == "rw"


def test_the_merge_that_breaks_the_papers_bound_keeps_ours() -> None:
    """The events that turn 125 into 383 where counters of error 0.5 are merged twice, in sketches made for 0.5."""
    design = Design.of(ask(X, span=1000, error=0.5, levels=2))
    groups = ([64, 16, 4, 4], [16, 4, 2, 2], [4, 2, 1], [2, 2], [2])
    inner, coarse = [], []
    for number, sizes in enumerate(groups):
        leaves = [overstated(size) for size in sizes]
        filler = round(sum(map(after_cutoff, leaves))) - 1 - sum(map(replayed_before, leaves))
        pairs = [*((size - 1, size) for size in sizes), (filler, 0)]
        inner.append(merged([leaf(design, f"{number} {at}", *pair) for at, pair in enumerate(pairs)]))
        coarse.append(overstated_merge(leaves))
    filler = round(sum(map(after_cutoff, coarse))) - 1 - sum(map(replayed_before, coarse))
    root = merged([*inner, leaf(design, "filler", filler, 0)])
    found = MergedView(root, [], None, CUTOFF + 1).point("x", 1)
    assert root.flat.counters.merges == 2
    assert abs(found.estimate - 125) <= 0.5 * 125
    assert found.low <= 125 <= found.high


def leaf(design: Design, node: str, before: int, after: int) -> Sketches:
    """A site with events at the cutoff and right after it."""
    sketches = design.empty(node)
    counts = {CUTOFF: before, CUTOFF + 1: after}
    ticks = np.array([tick for tick, count in counts.items() if count])
    items = ["x"] * len(ticks)
    log = Log.of(TickCounts(ticks, Names(items), np.array([counts[tick] for tick in ticks.tolist()])), False)
    sketches.update(log)
    return sketches
