"""Shared count (SC of the paper): sites are told the coordinator's count, and keep back a share of that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from monitoring_lib.methods import Moment
from monitoring_lib.network import ALL, Post
from monitoring_lib.protocols.distinct_count.sketched.coordinator import SketchCoordinator
from monitoring_lib.protocols.distinct_count.sketched.letters import BitItems, Bits, Count, Whole
from monitoring_lib.protocols.distinct_count.sketched.method import SketchMethod
from monitoring_lib.protocols.distinct_count.sketched.site import SketchSite

_GROWTH = 1.1
"""The count is announced once it has grown by so much: a stale one is smaller, and so safe."""


class SharedCountSite(SketchSite):
    """Reports once its own count exceeds the one of its last report by ``lag / sites * heard count``.

    What it heard never touches the count of its last report: that would lose bits for good.
    """

    def is_due(self, state: Any, sites: int) -> bool:
        lag = self.ask.options.lag
        if not lag:
            return True
        count = self.form.estimate(state.sketch)
        if count <= state.reported_count + lag / sites * state.heard_count:
            return False
        state.reported_count = count
        return True


class SharedCountCoordinator(SketchCoordinator):
    """Announces its count to all; without a lag nobody would use it, so nothing is said."""

    def replies(self, state: Any, moment: Moment, senders: Sequence[str]) -> Iterable[Post]:
        if not self.ask.options.lag or not senders:
            return ()
        count = self.form.estimate(state.union)
        if count <= state.announced * _GROWTH:
            return ()
        state.announced = count
        return [Post(ALL, Count(count), "grown")]


class SharedCount(SketchMethod):
    """Sites with few items of their own report less often."""

    name = "shared-count"
    letters = (Bits, Whole, BitItems, Count)
    Site = SharedCountSite
    Coordinator = SharedCountCoordinator
