"""Real traces: point estimates of all items within their bounds, at every epoch."""

from __future__ import annotations

import lzma
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from monitoring_lib.protocols.recent_counts.merged import Merged
from monitoring_lib.protocols.recent_counts.merged.view import Ranged
from tests.protocols.recent_counts.driver import TICKS, Driver, Event, ask, certainly_kept

SITES, SPAN, ERROR = 8, 30, 0.05


def events_of(traces: Path, rows: int) -> dict[int, list[Event]]:
    """The first rows of the Twitter trace by epoch, dealt to sites in turn."""
    epochs: dict[int, list[Event]] = {}
    with lzma.open(traces / "twitter_cache_cluster52_1M.csv.xz", "rt") as lines:
        next(lines)
        for number, line in zip(range(rows), lines, strict=False):
            time, item, _ = line.split(",")
            epochs.setdefault(int(time) // TICKS, []).append((f"s{number % SITES}", int(time), item))
    return epochs


def check(traces: Path, rows: int, counter: str) -> None:
    queries = [
        {"name": "top", "heavy_hitters": 0.02, "range": f"{SPAN}s"},
        {"name": "one", "point": "286355432205858634", "range": "10s"},
    ]
    driver = Driver(Merged(ask(queries, error=ERROR, span=SPAN, counter=counter)))
    seen: list[Event] = []
    beyond = outside = judged = 0
    for epoch, events in sorted(events_of(traces, rows).items()):
        assert epoch == driver.epoch
        assert certainly_kept(driver.step(events))
        end = (epoch + 1) * TICKS
        seen = [event for event in seen + events if event[1] >= end - SPAN]
        exact = Counter(item for _, _, item in seen)
        items, counts = list(exact), np.array(list(exact.values()))
        role = driver.method.role("@coordinator")
        merged = role._merged.up_to(driver.root, epoch)  # type: ignore[attr-defined]
        ranged = Ranged(merged.flat, SPAN, end - 1)
        assert (counts <= ranged.highs(items)).all()
        outside += int((counts < ranged.lows(items)).sum())
        beyond += int((np.abs(ranged.estimates(items) - counts) > ERROR * len(seen)).sum())
        judged += len(items)
    assert judged > 1000
    assert max(outside, beyond) <= 0.05 * judged


@pytest.mark.parametrize("counter", ["eh", "dw"])
def test_all_items_of_a_part_of_the_twitter_trace(traces: Path, counter: str) -> None:
    check(traces, 60_000, counter)


@pytest.mark.slow
def test_all_items_of_a_million_events(traces: Path) -> None:
    check(traces, 1_000_000, "eh")
