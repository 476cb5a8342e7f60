"""Caching, at a site: sends a sum once it has drifted too far from the coordinator's copy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from monitoring_lib.methods import Moment, SiteRole
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.topk.caching.state import CachingSiteState
from monitoring_lib.protocols.topk.letters import Poll, Polled, SiteSums
from monitoring_lib.protocols.topk.sums import absorb, even_share, keeps_zeros
from monitoring_lib.synopses.counts import Counts


class CachingSite(SiteRole[CachingSiteState]):
    """Sends a sum once it differs from the coordinator's copy by more than ``tolerance / 2m``."""

    State = CachingSiteState

    def start(self, node: str) -> CachingSiteState:
        return CachingSiteState(node)

    def observe(self, state: CachingSiteState, moment: Moment, arriving: Counts, expiring: Counts) -> Iterable[Post]:
        if state.period != moment.period:
            state.period = moment.period
            state.sums.clear()
            state.gaps.clear()
        first_sights: set[str] = set()
        if keeps_zeros(self.ask):
            first_sights.update(name for name in arriving.names if name not in state.sums)
        absorb(self.ask, state.node, state.sums, arriving, expiring)
        gaps = dict(arriving)
        for name, value in expiring:
            gaps[name] = gaps.get(name, 0) - value
        if len(state.gaps):
            for name, gap in zip(gaps, state.gaps.get_all(gaps), strict=True):
                gaps[name] += gap
        width = even_share(self.ask, len(moment.sites))
        if width < state.width:  # copies must now be closer
            gaps = dict(state.gaps.items()) | gaps
        state.width = width
        names = sorted(name for name, gap in gaps.items() if abs(gap) > width or name in first_sights)
        untold = {name: gap for name, gap in gaps.items() if 0 < abs(gap) <= width and name not in first_sights}
        state.gaps.drop_all(gaps)
        state.gaps.set_all([*untold], untold.values())
        if names:
            yield Post(COORDINATOR, SiteSums(names, state.sums.get_all(names)), "drifted")

    def receive(
        self, state: CachingSiteState, moment: Moment, round_: int, inbox: Sequence[Delivery]
    ) -> Iterable[Post]:
        for delivery in inbox:
            letter = delivery.letter
            assert isinstance(letter, Poll)
            state.gaps.drop_all(letter.names)
            yield Post(COORDINATOR, Polled(state.sums.get_all(letter.names)), "polled")
