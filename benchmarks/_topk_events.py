"""Top-k by constraints, fed event by event, against only counting the same events by (site, item).

The first events are there when the coordinator asks for the first time, as the text has it. They are not timed, nor is
what is made ready before: the items' numbers, and the arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import process_time_ns

import numpy as np
import pandas as pd

from benchmarks._measure import Workload
from monitoring_lib.hashing import hash_integers
from monitoring_lib.methods import Ask
from monitoring_lib.protocols.topk.constraints import ConstraintsOptions
from monitoring_lib.protocols.topk.constraints.feed import EventFeed
from monitoring_lib.protocols.topk.question import TopKParams

SITES, K = 16, 20
LEAST = 0.05
"""Part of np.bincount's rate that must be reached."""


@dataclass(frozen=True)
class Fed:
    """Nanoseconds an event, and our rate as a part of np.bincount's (medians); what the protocol did."""

    own: float
    counting: float
    part: float
    resolutions: int
    messages: int


def feed_events(workload: Workload, history: float, rounds: int) -> Fed:
    items, found = pd.factorize(workload.items)
    sites = (hash_integers(np.arange(len(items))) % np.uint64(SITES)).astype(np.int64)
    cells, start = sites * len(found) + items, int(len(items) * history)
    ask, nodes = Ask(TopKParams(k=K), ConstraintsOptions()), [f"site-{number:02}" for number in range(SITES)]
    names = [str(number) for number in range(len(found))]
    own, counting = [], []
    for _ in range(rounds + 1):
        feed = EventFeed(ask, nodes, names, (sites[:start], items[:start]))
        own.append(_nanoseconds(lambda feed=feed: feed.push(sites[start:], items[start:]), len(items) - start))
        counting.append(_nanoseconds(lambda: np.bincount(cells, minlength=SITES * len(found)), len(items)))
    own, counting = own[1:], counting[1:]  # the first round warmed up
    part = median(one / other for one, other in zip(counting, own, strict=True))
    return Fed(median(own), median(counting), part, feed.resolutions, feed.messages)


def _nanoseconds(work: Callable[[], object], events: int) -> float:
    begun = process_time_ns()
    work()
    return (process_time_ns() - begun) / events
