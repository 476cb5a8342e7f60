"""Caching, at the coordinator: a copy of every sum, and the best k totals of copies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from monitoring_lib.answers import Answers
from monitoring_lib.methods import Ask, InnerRole, Moment
from monitoring_lib.network import Delivery, Post
from monitoring_lib.protocols.topk.answers import Total, member_rows
from monitoring_lib.protocols.topk.caching.state import CachingCoordinatorState
from monitoring_lib.protocols.topk.letters import Poll, Polled, SiteSums
from monitoring_lib.protocols.topk.question import ranked, tolerance_of, within_share
from monitoring_lib.protocols.topk.sums import even_share, keeps_zeros
from monitoring_lib.unstored import Unstored


@dataclass(slots=True)
class CopyTotals:
    """The sums of the copies of all sites on a roster, by item; and what was polled in this epoch.

    `exact` are the sites whose copies of an item were just polled, `polled` the items under way by site. What is
    polled does not change who the `members` are: they are valid by what was known before.
    """

    roster: tuple[str, ...]
    sums: dict[str, int] = field(default_factory=dict)
    exact: dict[str, set[str]] = field(default_factory=dict)
    polled: dict[str, list[str]] = field(default_factory=dict)
    members: list[str] | None = None


class CachingCoordinator(InnerRole[CachingCoordinatorState]):
    """Publishes the best k totals of copies."""

    State = CachingCoordinatorState

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self._unstored: Unstored[CopyTotals] = Unstored()

    def start(self, node: str) -> CachingCoordinatorState:
        return CachingCoordinatorState()

    def receive(
        self, state: CachingCoordinatorState, moment: Moment, round_: int, inbox: Sequence[Delivery]
    ) -> Iterable[Post]:
        totals = self._unstored.of_epoch(state, moment.epoch) or self._enter(state, moment)
        for delivery in inbox:
            site, letter = delivery.sender, delivery.letter
            if isinstance(letter, Polled):
                told = dict(zip(totals.polled.pop(site), letter.sums, strict=True))
                for name in told:
                    totals.exact.setdefault(name, set()).add(site)
                # an item of sum 0 that the site has not named stays unnamed there
                named = [name for name, value in told.items() if value or (site, name) in state.copies]
                self._take(state, totals, site, named, [told[name] for name in named])
            else:
                assert isinstance(letter, SiteSums)
                self._take(state, totals, site, letter.names, letter.values)
        return self._poll(state, moment, totals)

    def _enter(self, state: CachingCoordinatorState, moment: Moment) -> CopyTotals:
        if state.period != moment.period:
            state.period = moment.period
            state.copies.clear()
            state.widths.forget()
            totals = CopyTotals(moment.sites)
        else:
            totals = self._summed(state, moment)
        state.widths.enter(moment, even_share(self.ask, len(moment.sites)))
        return self._unstored.put(state, moment.epoch, totals)

    def _summed(self, state: CachingCoordinatorState, moment: Moment) -> CopyTotals:
        latest = self._unstored.up_to(state, moment.epoch)
        if latest is not None and latest.roster == moment.sites:
            return CopyTotals(moment.sites, latest.sums)
        totals, sites = CopyTotals(moment.sites), set(moment.sites)
        for (site, name), value in state.copies.items():
            if site in sites:
                totals.sums[name] = totals.sums.get(name, 0) + value
        return totals

    def _take(
        self, state: CachingCoordinatorState, totals: CopyTotals, site: str, names: list[str], values: list[int]
    ) -> None:
        """A site's sums become its copies."""
        sums, pairs = totals.sums, [(site, name) for name in names]
        before = state.copies.get_all(pairs)
        state.copies.set_all(pairs, values)
        for name, value, copy in zip(names, values, before, strict=True):
            sums[name] = sums.get(name, 0) + value - copy
        if not keeps_zeros(self.ask):
            state.copies.drop_all(pair for pair, value in zip(pairs, values, strict=True) if value == 0)
            for name in [name for name in names if sums[name] == 0]:
                del sums[name]

    def _poll(self, state: CachingCoordinatorState, moment: Moment, totals: CopyTotals) -> list[Post]:
        """Where a published total is not as close as asked for, as many sites are asked as it takes."""
        if self.ask.params.totals is None:
            return []
        asked: dict[str, list[str]] = {}
        best = self._best(totals)
        totals.members = [name for name, _ in best]
        for name, total in best:
            exact = totals.exact.get(name, set())
            width = self._width(state, moment, exact)
            for site in moment.present:
                if within_share(self.ask, total, total + width - self._low(total - width)):
                    break
                if site not in exact and state.widths.of(site):
                    width -= state.widths.of(site)
                    asked.setdefault(site, []).append(name)
        totals.polled = asked
        return [Post(site, Poll([*names]), "totals") for site, names in sorted(asked.items())]

    def close(self, state: CachingCoordinatorState, moment: Moment) -> Iterable[Post]:
        self._unstored.settle(state, moment.epoch)
        return ()

    def answers(self, state: CachingCoordinatorState, moment: Moment) -> Answers:
        totals = self._unstored.of_epoch(state, moment.epoch) or self._summed(state, moment)
        unproved = 2 * state.widths.sum(moment) > tolerance_of(self.ask)
        return member_rows(self.ask, moment, self._rows(state, moment, totals), unproved)

    def certificate(self, state: CachingCoordinatorState, moment: Moment) -> str:
        width = state.widths.sum(moment) / self.ask.scale
        return (
            f"The coordinator holds {len(state.copies):,} sums as the sites last sent them. A site sends a sum again as"
            f" soon as it leaves its width; over all sites a total is off by at most {width:,g} to either side."
        )

    def _rows(self, state: CachingCoordinatorState, moment: Moment, totals: CopyTotals) -> Iterator[Total]:
        for name, total in self._best(totals):
            width = self._width(state, moment, totals.exact.get(name, set()))
            yield name, total, self._low(total - width), total + width

    def _best(self, totals: CopyTotals) -> list[tuple[str, int]]:
        if totals.members is None:
            return ranked(totals.sums, self.ask)
        return ranked({name: totals.sums.get(name, 0) for name in totals.members}, self.ask)

    def _width(self, state: CachingCoordinatorState, moment: Moment, exact: set[str]) -> int:
        """How far a total may be off to either side, where these sites' copies are not off at all."""
        return state.widths.sum(moment) - sum(state.widths.of(site) for site in exact)

    def _low(self, value: int) -> int:
        return value if self.ask.params.signed else max(0, value)
