"""Requery, at a site: says that it has changed, and answers the coordinator's questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from monitoring_lib.methods import Moment, SiteRole
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.topk.adjusted import Adjusted
from monitoring_lib.protocols.topk.letters import Above, Best, FoundObjects, Tell, Told
from monitoring_lib.protocols.topk.requery.letters import Changed
from monitoring_lib.protocols.topk.requery.query import BELOW_ALL
from monitoring_lib.protocols.topk.requery.state import RequerySiteState
from monitoring_lib.protocols.topk.sums import absorb, keeps_zeros
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.tally import Tally


class RequerySite(SiteRole[RequerySiteState]):
    """Says that it has changed, and answers."""

    State = RequerySiteState

    def start(self, node: str) -> RequerySiteState:
        return RequerySiteState(node)

    def observe(self, state: RequerySiteState, moment: Moment, arriving: Counts, expiring: Counts) -> Iterable[Post]:
        if state.period != moment.period:
            state.period = moment.period
            state.sums.clear()
        touched = absorb(self.ask, state.node, state.sums, arriving, expiring)
        state.asked = []
        if touched:
            yield Post(COORDINATOR, Changed(), "changed")

    def receive(
        self, state: RequerySiteState, moment: Moment, round_: int, inbox: Sequence[Delivery]
    ) -> Iterable[Post]:
        view = Adjusted(state.sums, Tally(), (), keeps_zeros(self.ask))
        for delivery in inbox:
            letter = delivery.letter
            if isinstance(letter, Tell):
                names = letter.names
            elif isinstance(letter, Best):
                names = view.best_outsiders(letter.count)
            else:
                assert isinstance(letter, Above)
                names = sorted(set(view.outsiders_above(letter.level)).difference(state.asked))
            state.asked = [*state.asked, *names]
            sums, border = [state.sums.get(name) for name in names], view.border(set(state.asked), BELOW_ALL)
            told = Told(sums, border, 0) if isinstance(letter, Tell) else FoundObjects(names, sums, border, 0)
            yield Post(COORDINATOR, told, "asked")
