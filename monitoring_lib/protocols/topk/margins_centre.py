"""Margins, at the coordinator: proves its answer from bounds, and asks where it cannot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from monitoring_lib.errors import ProtocolError
from monitoring_lib.methods import Answer, Ask, InnerRole, Moment
from monitoring_lib.network import Delivery, Post
from monitoring_lib.protocols.topk.answers import member_rows, partial_row
from monitoring_lib.protocols.topk.margins_bounds import Bounds, MarginsCentre
from monitoring_lib.protocols.topk.margins_upkeep import (
    FIRST_WAIT,
    LONGEST_WAIT,
    grant_widths,
    raise_thresholds,
)
from monitoring_lib.protocols.topk.margins_widths import least_width
from monitoring_lib.protocols.topk.messages import Enquiry, FirstValues, Lower, Values
from monitoring_lib.protocols.topk.question import tolerance_of
from monitoring_lib.protocols.topk.sums import keeps_zeros


class MarginsCentreRole(InnerRole[MarginsCentre]):
    """At the end of an epoch ``min low(t) + tolerance >= max high(s)`` over members t and all others s.

    The item that nobody has named is among the others. The test runs in every epoch, also when no site spoke.
    """

    State = MarginsCentre

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self._tolerance = tolerance_of(ask)
        self._largest = not keeps_zeros(ask)

    def start(self, node: str) -> MarginsCentre:
        return MarginsCentre()

    def receive(self, state: MarginsCentre, moment: Moment, inbox: Sequence[Delivery]) -> Iterable[Post]:
        unasked = state.epoch != moment.epoch
        bounds = self._enter(state, moment) if unasked else _of(state)
        for delivery in inbox:
            letter = delivery.letter
            assert isinstance(letter, Values | FirstValues)
            if isinstance(letter, FirstValues):
                bounds.set_threshold_of_beginner(delivery.sender, letter.threshold)
            for name, value in zip(letter.names, letter.values, strict=True):
                bounds.tell(delivery.sender, name, value)
                if unasked:
                    state.unasked.append((delivery.sender, name))
        return self._prove(state, moment, bounds)

    def _enter(self, state: MarginsCentre, moment: Moment) -> Bounds:
        state.epoch, state.unasked = moment.epoch, []
        if state.period != moment.period:
            state.period, state.bounds, state.thresholds = moment.period, None, {}
            state.floors.forget()
            for tally in (state.copies, state.widths, state.spoken, state.waits):
                tally.clear()
        before = (state.floors.common, dict(state.floors.others), len(state.thresholds))
        state.floors.enter(moment, least_width(self.ask, len(moment.sites)))
        for site in moment.present:
            state.thresholds.setdefault(site, 0)
        now = (state.floors.common, state.floors.others, len(state.thresholds))
        if state.bounds is None or state.bounds.sites != moment.sites or before != now:
            state.bounds = Bounds(self.ask, state, moment.sites)
        return state.bounds

    def _prove(self, state: MarginsCentre, moment: Moment, bounds: Bounds) -> list[Post]:
        """Publishes, if the test passes; else asks what decides it soonest."""
        best = bounds.best(self.ask.params.k)
        names = {name for name, _ in best}
        lows = {name: self._score_low(bounds, name) for name in names}
        worst = min(lows.values(), default=0)
        if self._largest and len(best) < self.ask.params.k:
            worst = min(worst, 0)
        limit = worst + self._tolerance
        highs = self._outsider_scores(bounds, names)
        highest = max(highs.values(), default=worst)
        if self._largest:
            highest = max(highest, bounds.untold)
        if highest > limit:
            ambiguous = [name for name, low in lows.items() if low + self._tolerance < highest]
            ambiguous += [name for name, high in highs.items() if high > limit]
            posts = (
                self._ask_wide(state, moment, bounds, ambiguous)
                or self._lower(state, moment, bounds, limit, best)
                or self._ask_untracked(moment, bounds, ambiguous)
            )
            if posts:
                return posts
            if not moment.missing:
                raise ProtocolError(
                    f"margins cannot prove its answer of epoch {moment.epoch} and has nothing left to ask"
                )
        state.names, state.totals = [name for name, _ in best], [total for _, total in best]
        state.lows, state.highs = (
            [bounds.low(name) for name in state.names],
            [bounds.high(n) for n in state.names],
        )
        state.member_low, state.outsider_high = worst, highest
        state.excess = max(0, highest - worst) if highest > limit else 0
        return []

    def _score_low(self, bounds: Bounds, name: str) -> int:
        return bounds.low(name) if self._largest else -bounds.high(name)

    def _outsider_scores(self, bounds: Bounds, members: set[str]) -> dict[str, int]:
        if self._largest:
            return {name: high for name, high in bounds.highs() if name not in members}
        return {name: -bounds.low(name) for name in bounds.items if name not in members}

    def _ask_wide(self, state: MarginsCentre, moment: Moment, bounds: Bounds, ambiguous: Iterable[str]) -> list[Post]:
        """Items in doubt are asked for where their width is above the floor; from then on it is the floor."""
        asked: dict[str, list[str]] = {}
        for name in sorted(ambiguous):
            wide = [
                site for site in sorted(bounds.items[name].sites)
                if site not in moment.missing and bounds.width(site, name) > bounds.floor(site)
            ]  # fmt: skip
            for site in wide:
                bounds.set_width(site, name, 0)
                asked.setdefault(site, []).append(name)
            if wide:
                state.waits.set(name, min(LONGEST_WAIT, 3 * (state.waits.get(name) or FIRST_WAIT)))
                state.spoken.drop(name)
        return [Post(site, Enquiry(names), "wide") for site, names in sorted(asked.items())]

    def _lower(
        self, state: MarginsCentre, moment: Moment, bounds: Bounds, limit: int, best: list[tuple[str, int]]
    ) -> list[Post]:
        """If an item that nobody has named could be a member, thresholds fall in proportion."""
        if not self._largest or bounds.untold <= limit:
            return []
        kth = best[-1][1] if len(best) == self.ask.params.k else 0
        floors = {site: bounds.floor(site) for site in moment.sites}
        fixed = sum(bounds.threshold(site) for site in moment.missing if site in floors)
        fixed += sum(floors[site] for site in moment.present)
        above = {site: bounds.threshold(site) - floors[site] for site in moment.present}
        room, given = max(0, int(self.ask.options.untracked * kth) - fixed), sum(above.values())
        if room >= given:
            return []
        posts = []
        for site, excess in sorted(above.items()):
            if excess > 0:
                state.thresholds[site] = floors[site] + excess * room // given
                posts.append(Post(site, Lower(state.thresholds[site]), "an unnamed item might be a member"))
        state.bounds = Bounds(self.ask, state, moment.sites)
        return posts

    def _ask_untracked(self, moment: Moment, bounds: Bounds, ambiguous: Iterable[str]) -> list[Post]:
        """Items in doubt are asked for where they are untracked."""
        open_sites = [site for site in moment.present if bounds.threshold(site) > bounds.floor(site)]
        asked: dict[str, list[str]] = {}
        for name in sorted(ambiguous):
            for site in open_sites:
                if site not in bounds.items[name].sites:
                    bounds.track(site, name)
                    asked.setdefault(site, []).append(name)
        return [Post(site, Enquiry(names), "untracked") for site, names in sorted(asked.items())]

    def close(self, state: MarginsCentre, moment: Moment) -> Iterable[Post]:
        if state.excess:
            return []
        posts = raise_thresholds(self.ask, state, moment, _of(state)) if self._largest else []
        if posts:
            state.bounds = Bounds(self.ask, state, moment.sites)
        return [*posts, *grant_widths(self.ask, state, moment, _of(state))]

    def answers(self, state: MarginsCentre, moment: Moment) -> list[Answer]:
        rows = member_rows(self.ask, moment, zip(state.names, state.totals, state.lows, state.highs, strict=True))
        if state.excess:
            rows.append(partial_row(self.ask, moment, state.excess))
        return rows

    def faults(self, state: MarginsCentre) -> list[str]:
        found = [
            f"{name[:80]!r} at {site!r} has a width and is not tracked"
            for site, name in state.widths
            if (site, name) not in state.copies
        ]
        if state.outsider_high - state.member_low > max(self._tolerance, state.excess):
            found.append(f"an outsider may reach {state.outsider_high}, a member lies at {state.member_low} or above")
        return found


def _of(state: MarginsCentre) -> Bounds:
    assert state.bounds is not None, "upkeep before the epoch's first round"
    return state.bounds
