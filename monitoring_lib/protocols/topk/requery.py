"""Requery: the answer is asked for anew in every epoch in which a site has changed.

A baseline. The query has the three phases that Babcock and Olston, "Distributed Top-K Monitoring", section 3,
leave to "an efficient algorithm for one-time top-k queries" (Cao and Wang's TPUT): every site's k best; every
sum above the k-th partial total's share; the missing sums of what can still be among the best.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from monitoring_lib.codec import Image
from monitoring_lib.methods import Answer, Ask, InnerRole, Moment, SiteRole
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.topk.adjusted import Adjusted
from monitoring_lib.protocols.topk.answers import member_rows, partial_row
from monitoring_lib.protocols.topk.family import TopKMethod
from monitoring_lib.protocols.topk.messages import Above, Best, Changed, Found, Tell, Told
from monitoring_lib.protocols.topk.query import BELOW_ALL, Query, QueryState
from monitoring_lib.protocols.topk.question import tolerance_of
from monitoring_lib.protocols.topk.sums import absorb, keeps_zeros
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.tally import Tally


@dataclass(slots=True)
class RequerySite(Image, tag=14, version=1):
    """A site's sums, and the items that it has told of in this epoch's query."""

    node: str
    period: int = 0
    sums: Tally = field(default_factory=Tally)
    asked: list[str] = field(default_factory=list)


class RequerySiteRole(SiteRole[RequerySite]):
    """Says that it has changed, and answers."""

    State = RequerySite

    def start(self, node: str) -> RequerySite:
        return RequerySite(node)

    def observe(self, state: RequerySite, moment: Moment, arriving: Counts, expiring: Counts) -> Iterable[Post]:
        if state.period != moment.period:
            state.period = moment.period
            state.sums.clear()
        touched = absorb(self.ask, state.node, state.sums, arriving, expiring)
        state.asked = []
        if touched:
            yield Post(COORDINATOR, Changed(), "changed")

    def receive(self, state: RequerySite, moment: Moment, inbox: Sequence[Delivery]) -> Iterable[Post]:
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
            told = Told(sums, border, 0) if isinstance(letter, Tell) else Found(names, sums, border, 0)
            yield Post(COORDINATOR, told, "asked")


class RequeryCentreRole(InnerRole[QueryState]):
    """Runs at most one query an epoch. What a site said last bounds its sums while it is missing."""

    State = QueryState

    def start(self, node: str) -> QueryState:
        return QueryState()

    def receive(self, state: QueryState, moment: Moment, inbox: Sequence[Delivery]) -> Iterable[Post]:
        if state.epoch == moment.epoch and state.turns is not None:
            return state.turns.send(inbox)
        state.epoch, state.turns = moment.epoch, Query(self.ask, state, moment).run(bool(inbox))
        return next(state.turns)

    def answers(self, state: QueryState, moment: Moment) -> list[Answer]:
        rows = member_rows(self.ask, moment, zip(state.members, state.totals, state.lows, state.highs, strict=True))
        if state.excess != 0:
            rows.append(partial_row(self.ask, moment, state.excess))
        return rows

    def faults(self, state: QueryState) -> list[str]:
        if state.excess is None or state.member_low is None:
            return []
        if state.outsider_high - state.member_low > max(tolerance_of(self.ask), state.excess):
            return [f"an outsider may reach {state.outsider_high}, a member lies at {state.member_low} or above"]
        return []


class Requery(TopKMethod):
    """Three phases of questions and replies in every epoch."""

    name = "requery"
    letters = (Changed, Tell, Told, Best, Above, Found)

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site = RequerySiteRole(ask)
        self.inner = RequeryCentreRole(ask)

    def most_rounds(self, sites: int) -> int:
        """Three or four exchanges."""
        return 10
