"""A mesh that broadcasts: every site knows how many events there were over all sites.

A site whose number has changed tells all that are present, and whoever was not there when it last spoke.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from monitoring_lib.answers import Answer, Answers, Verdict, Verdicts
from monitoring_lib.codec import Image
from monitoring_lib.item_counts import ItemCounts
from monitoring_lib.methods import Ask, Method, Moment, SiteRole, Truth
from monitoring_lib.network import ALL, Delivery, Letter, Post
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.topology import Mesh, Roster, Topology
from tests.laws.toys.plain import PlainQuestion, judge_row


class SharedTotal(PlainQuestion):
    """How many events there were, known to every site that is present."""

    name, default_method, baseline, shape = "shared-total", "broadcasting", "broadcasting", "views"
    windows = frozenset(("growing", "reset"))
    promised = "exact where no site is missing (always)"

    def exact(self, ask: Ask) -> ItemCounts:
        return ItemCounts()

    def truth(self, ask: Ask) -> Truth:
        return ViewTruth()


class ViewTruth(Truth):
    def __init__(self) -> None:
        self.totals: dict[int, int] = {}

    def observe(self, moment: Moment, node: str, arriving: Counts, expiring: Counts) -> None:
        self.totals[moment.period] = self.totals.get(moment.period, 0) + sum(count for _, count in arriving)

    def judge(self, moment: Moment, answers: Answers) -> Verdicts:
        exact, rows = self.totals.get(moment.period, 0), {row.node: row for row in answers}
        silent = [node for node in moment.present if node not in rows]
        lost = [Verdict(node, moment.end, "", "all events", exact, math.inf, 0, kept=False) for node in silent]
        return Verdicts.of([*lost, *(judge_row(row, "all events", exact) for row in rows.values())])


@dataclass(slots=True)
class Own(Letter, tag=1, version=1):
    total: int


@dataclass(slots=True)
class ViewState(Image, tag=2, version=1):
    """`totals` by site; `there` are those who were present when this site last observed."""

    node: str
    period: int = 0
    totals: dict[str, int] = field(default_factory=dict)
    there: list[str] = field(default_factory=list)


class View(SiteRole[ViewState]):
    State = ViewState

    def start(self, node: str) -> ViewState:
        return ViewState(node)

    def observe(self, state: ViewState, moment: Moment, arriving: Counts, expiring: Counts) -> Iterable[Post]:
        if state.period != moment.period:
            state.period, state.totals = moment.period, {}
        came, own = int(arriving.sums.sum()), state.totals.get(state.node, 0)
        back = tuple(sorted(set(moment.present) - {*state.there, state.node}))
        state.there = sorted(moment.present)
        if came:
            state.totals[state.node] = own + came
            yield Post(ALL, Own(own + came), "counted")
        elif own and back:
            yield Post(back, Own(own), "was away")

    def receive(self, state: ViewState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        for delivery in inbox:
            assert isinstance(delivery.letter, Own)
            state.totals[delivery.sender] = delivery.letter.total
        return ()

    def answers(self, state: ViewState, moment: Moment) -> Answers:
        """While a site is missing, it may know of events that it has told others and not this one."""
        known, away = sum(state.totals.values()), bool(moment.missing)
        high = math.inf if away else known
        return Answers.of([Answer(state.node, moment.end, "", None, known, known, high, partial=away)])


class Broadcasting(Method):
    """Sites tell each other; nobody is in the middle."""

    name, question, letters = "broadcasting", SharedTotal(), (Own,)

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site = View(ask)

    def topology(self, roster: Roster) -> Topology:
        return Mesh(roster.sites)


METHODS = (Broadcasting,)
