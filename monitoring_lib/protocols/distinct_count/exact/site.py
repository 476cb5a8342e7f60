"""Exact, at a site: sends each item once, or with a sliding window once an epoch."""

from __future__ import annotations

from collections.abc import Iterable

from monitoring_lib.codec import Names
from monitoring_lib.methods import Moment, SiteRole
from monitoring_lib.network import COORDINATOR, Post
from monitoring_lib.protocols.distinct_count.exact.letters import NewItems
from monitoring_lib.protocols.distinct_count.exact.state import ExactSiteState
from monitoring_lib.synopses.counts import Counts


class ExactSite(SiteRole[ExactSiteState]):
    """Sends every item that is new to the site."""

    State = ExactSiteState

    def start(self, node: str) -> ExactSiteState:
        return ExactSiteState()

    def observe(self, state: ExactSiteState, moment: Moment, arriving: Counts, expiring: Counts) -> Iterable[Post]:
        if self.ask.window.length is not None:
            return [Post(COORDINATOR, NewItems(arriving.names), "epoch")] if len(arriving) else []
        if state.period != moment.period:
            state.period = moment.period
            state.sent.clear()
        names = arriving.names.tolist()
        new = [name for name, sent in zip(names, state.sent.get_all(names), strict=True) if not sent]
        if not new:
            return []
        state.sent.set_all(new, [1] * len(new))
        return [Post(COORDINATOR, NewItems(Names(new)), "new")]
