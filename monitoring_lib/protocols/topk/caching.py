"""Caching: the coordinator holds a copy of every sum, which a site renews when it has drifted too far.

The baseline of Babcock and Olston, "Distributed Top-K Monitoring", section 4.4: with m sites a copy may be
off by tolerance / 2m, so a total by half the tolerance, and the k largest totals of copies are a valid answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from monitoring_lib.codec import Image
from monitoring_lib.methods import Answer, Ask, InnerRole, Moment, SiteRole
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.topk.answers import member_rows, partial_row
from monitoring_lib.protocols.topk.family import TopKMethod
from monitoring_lib.protocols.topk.lagging import Lagging
from monitoring_lib.protocols.topk.messages import Values
from monitoring_lib.protocols.topk.question import ranked, tolerance_of
from monitoring_lib.protocols.topk.sums import absorb, even_share, keeps_zeros
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.tally import Tally


@dataclass(slots=True)
class CachingSite(Image, tag=2, version=1):
    """A site's sums, and how far each lies from the coordinator's copy where the two differ."""

    node: str
    period: int = 0
    width: int = 0
    sums: Tally = field(default_factory=Tally)
    gaps: Tally = field(default_factory=Tally)


@dataclass(slots=True)
class CachingCentre(Image, tag=3, version=1):
    """The copies by (site, item); and how far they may be off, which differs at sites that are missing."""

    period: int = 0
    widths: Lagging = field(default_factory=Lagging)
    copies: Tally = field(default_factory=Tally)
    totals: dict[str, int] | None = field(default=None, init=False, compare=False, repr=False)
    roster: tuple[str, ...] = field(default=(), init=False, compare=False, repr=False)


class Site(SiteRole[CachingSite]):
    """Sends a sum once it differs from the coordinator's copy by more than ``tolerance / 2m``."""

    State = CachingSite

    def start(self, node: str) -> CachingSite:
        return CachingSite(node)

    def observe(self, state: CachingSite, moment: Moment, arriving: Counts, expiring: Counts) -> Iterable[Post]:
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
            yield Post(COORDINATOR, Values(names, state.sums.get_all(names)), "drifted")


class Centre(InnerRole[CachingCentre]):
    """Publishes the best k totals of copies."""

    State = CachingCentre

    def start(self, node: str) -> CachingCentre:
        return CachingCentre()

    def receive(self, state: CachingCentre, moment: Moment, inbox: Sequence[Delivery]) -> Iterable[Post]:
        if state.period != moment.period:
            state.period = moment.period
            state.copies.clear()
            state.widths.forget()
            state.totals = None
        state.widths.enter(moment, even_share(self.ask, len(moment.sites)))
        totals = self._totals(state, moment)
        drops_zeros = not keeps_zeros(self.ask)
        for delivery in inbox:
            letter = delivery.letter
            assert isinstance(letter, Values)
            pairs = [(delivery.sender, name) for name in letter.names]
            before = state.copies.get_all(pairs)
            state.copies.set_all(pairs, letter.values)
            for name, value, copy in zip(letter.names, letter.values, before, strict=True):
                totals[name] = totals.get(name, 0) + value - copy
            if drops_zeros:
                state.copies.drop_all(pair for pair, value in zip(pairs, letter.values, strict=True) if value == 0)
                for name in [name for name in letter.names if totals[name] == 0]:
                    del totals[name]
        return ()

    def _totals(self, state: CachingCentre, moment: Moment) -> dict[str, int]:
        """The sums of the copies of all sites on the roster, by item."""
        if state.totals is None or state.roster != moment.sites:
            state.totals, state.roster = {}, moment.sites
            sites = set(moment.sites)
            for (site, name), value in state.copies.items():
                if site in sites:
                    state.totals[name] = state.totals.get(name, 0) + value
        return state.totals

    def answers(self, state: CachingCentre, moment: Moment) -> list[Answer]:
        width = state.widths.sum(moment)
        best = ranked(self._totals(state, moment), self.ask)
        rows = member_rows(
            self.ask, moment, ((name, total, self._low(total - width), total + width) for name, total in best)
        )
        if 2 * width > tolerance_of(self.ask):
            rows.append(partial_row(self.ask, moment, 2 * width))
        return rows

    def _low(self, value: int) -> int:
        return value if self.ask.params.signed else max(0, value)


class Caching(TopKMethod):
    """Every drifted sum goes to the coordinator; nothing comes back."""

    name = "caching"
    letters = (Values,)

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.site = Site(ask)
        self.inner = Centre(ask)
