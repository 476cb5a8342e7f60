"""Caching: the coordinator holds a copy of every sum, which a site renews when it has drifted too far.

The baseline of Babcock and Olston, "Distributed Top-K Monitoring", section 4.4: with m sites a copy may be
off by tolerance / 2m, so a total by half the tolerance, and the k largest totals of copies are a valid answer.
"""

from __future__ import annotations

from monitoring_lib.methods import Ask
from monitoring_lib.protocols.topk.caching.coordinator import CachingCoordinator
from monitoring_lib.protocols.topk.caching.site import CachingSite
from monitoring_lib.protocols.topk.family import TopKMethod
from monitoring_lib.protocols.topk.letters import Poll, Polled, SiteSums


class Caching(TopKMethod):
    """Every drifted sum goes to the coordinator; nothing comes back, unless `totals` asks for closer sums."""

    name = "caching"
    letters = (SiteSums, Poll, Polled)

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site = CachingSite(ask)
        self.inner = CachingCoordinator(ask)
