"""Margins, at the coordinator: proves its answer from bounds, and asks where it cannot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from monitoring_lib.answers import Answers
from monitoring_lib.errors import ProtocolError
from monitoring_lib.methods import Ask, InnerRole, Moment
from monitoring_lib.network import Delivery, Post
from monitoring_lib.protocols.topk.answers import both_sides, member_rows
from monitoring_lib.protocols.topk.letters import Poll, Polled, SiteSums
from monitoring_lib.protocols.topk.margins.bounds import Evidence, SumBounds
from monitoring_lib.protocols.topk.margins.letters import Enquiry, FirstValues, Lower
from monitoring_lib.protocols.topk.margins.state import MarginsCoordinatorState
from monitoring_lib.protocols.topk.margins.upkeep import FIRST_WAIT, LONGEST_WAIT, grant_widths, raise_thresholds
from monitoring_lib.protocols.topk.margins.widths import least_width
from monitoring_lib.protocols.topk.question import ranked, tolerance_of, within_share
from monitoring_lib.protocols.topk.sums import keeps_zeros
from monitoring_lib.unstored import Unstored


class MarginsCoordinator(InnerRole[MarginsCoordinatorState]):
    """At the end of an epoch ``min low(t) + tolerance >= max high(s)`` over members t and all others s.

    The item that nobody has named is among the others. The test runs in every epoch, also when no site spoke.
    """

    State = MarginsCoordinatorState

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self._tolerance = tolerance_of(ask)
        self._largest = not keeps_zeros(ask)
        self._unstored: Unstored[Evidence] = Unstored()

    def start(self, node: str) -> MarginsCoordinatorState:
        return MarginsCoordinatorState()

    def receive(
        self, state: MarginsCoordinatorState, moment: Moment, round_: int, inbox: Sequence[Delivery]
    ) -> Iterable[Post]:
        evidence = self._unstored.of_epoch(state, moment.epoch)
        unasked = evidence is None
        if evidence is None:
            evidence = self._unstored.put(state, moment.epoch, Evidence(self._enter(state, moment)))
        bounds = evidence.bounds
        for delivery in inbox:
            letter = delivery.letter
            if isinstance(letter, Polled):
                for name, value in zip(evidence.polled.pop(delivery.sender), letter.sums, strict=True):
                    bounds.tell(delivery.sender, name, value)
                    evidence.exact.add((delivery.sender, name))
                continue
            assert isinstance(letter, SiteSums | FirstValues)
            if isinstance(letter, FirstValues):
                bounds.set_threshold_of_beginner(delivery.sender, letter.threshold)
            for name, value in zip(letter.names, letter.values, strict=True):
                bounds.tell(delivery.sender, name, value)
                if unasked:
                    evidence.unasked.append((delivery.sender, name))
        if evidence.members is not None:
            return self._publish(state, moment, evidence)
        return self._prove(state, moment, evidence)

    def _enter(self, state: MarginsCoordinatorState, moment: Moment) -> SumBounds:
        latest = self._unstored.up_to(state, moment.epoch)
        if state.period != moment.period:
            state.period, latest, state.thresholds = moment.period, None, {}
            state.floors.forget()
            for tally in (state.copies, state.widths, state.spoken, state.waits):
                tally.clear()
        before = (state.floors.common, dict(state.floors.others), len(state.thresholds))
        state.floors.enter(moment, least_width(self.ask, len(moment.sites)))
        for site in moment.present:
            state.thresholds.setdefault(site, 0)
        now = (state.floors.common, state.floors.others, len(state.thresholds))
        if latest is None or latest.bounds.sites != moment.sites or before != now:
            return SumBounds(self.ask, state, moment.sites)
        return latest.bounds

    def _prove(self, state: MarginsCoordinatorState, moment: Moment, evidence: Evidence) -> list[Post]:
        """Publishes, if the test passes; else asks what decides it soonest."""
        bounds = evidence.bounds
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
                or self._lower(state, moment, evidence, limit, best)
                or self._ask_untracked(moment, bounds, ambiguous)
            )
            if posts:
                return posts
            if not moment.missing:
                raise ProtocolError(
                    f"margins cannot prove its answer of epoch {moment.epoch} and has nothing left to ask"
                )
        if self._largest:
            posts = self._ask_whether_above_zero(state, moment, bounds, lows)
            if posts:
                return posts
        state.member_low, state.outsider_high = worst, highest
        state.excess = max(0, highest - worst) if highest > limit else 0
        evidence.members = [name for name, _ in best]
        return self._publish(state, moment, evidence)

    def _publish(self, state: MarginsCoordinatorState, moment: Moment, evidence: Evidence) -> list[Post]:
        """The members, ranked by what is known of them, once their totals are as close as asked for."""
        totals = {name: evidence.bounds.totals.get(name, 0) for name in evidence.members or ()}
        posts = self._poll(moment, evidence, totals)
        if posts:
            return posts
        best = ranked(totals, self.ask)
        state.names, state.totals = [name for name, _ in best], [total for _, total in best]
        state.lows = [evidence.low(name) for name in state.names]
        state.highs = [evidence.high(name) for name in state.names]
        left_out = [evidence.high(name) for name in totals.keys() - set(state.names)]
        if left_out and max(left_out) > state.outsider_high:  # a poll found it at 0, which a missing site leaves open
            state.member_low, state.outsider_high = min(0, state.member_low), max(left_out)
            excess = state.outsider_high - state.member_low
            state.excess = excess if excess > self._tolerance else 0
        return []

    def _score_low(self, bounds: SumBounds, name: str) -> int:
        return bounds.low(name) if self._largest else -bounds.high(name)

    def _outsider_scores(self, bounds: SumBounds, members: set[str]) -> dict[str, int]:
        if self._largest:
            return {name: high for name, high in bounds.highs() if name not in members}
        return {name: -bounds.low(name) for name in bounds.items if name not in members}

    def _ask_wide(
        self, state: MarginsCoordinatorState, moment: Moment, bounds: SumBounds, ambiguous: Iterable[str]
    ) -> list[Post]:
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

    def _ask_whether_above_zero(
        self, state: MarginsCoordinatorState, moment: Moment, bounds: SumBounds, lows: Mapping[str, int]
    ) -> list[Post]:
        """Of the largest only sums above 0 are published, so far as the tolerance lets tell."""
        unsure = [name for name, low in lows.items() if low + self._tolerance <= 0]
        return self._ask_wide(state, moment, bounds, unsure) or self._ask_untracked(moment, bounds, unsure)

    def _lower(
        self,
        state: MarginsCoordinatorState,
        moment: Moment,
        evidence: Evidence,
        limit: int,
        best: list[tuple[str, int]],
    ) -> list[Post]:
        """If an item that nobody has named could be a member, thresholds fall in proportion."""
        bounds = evidence.bounds
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
        evidence.bounds = SumBounds(self.ask, state, moment.sites)
        return posts

    def _ask_untracked(self, moment: Moment, bounds: SumBounds, ambiguous: Iterable[str]) -> list[Post]:
        """Items in doubt are asked for where they are untracked."""
        open_sites = [site for site in moment.present if bounds.threshold(site) > bounds.floor(site)]
        asked: dict[str, list[str]] = {}
        for name in sorted(ambiguous):
            for site in open_sites:
                if site not in bounds.items[name].sites:
                    bounds.track(site, name)
                    asked.setdefault(site, []).append(name)
        return [Post(site, Enquiry(names), "untracked") for site, names in sorted(asked.items())]

    def _poll(self, moment: Moment, evidence: Evidence, totals: Mapping[str, int]) -> list[Post]:
        """Members whose totals are not as close as asked for are polled where their bounds are widest."""
        if self.ask.params.totals is None:
            return []
        bounds, asked = evidence.bounds, evidence.polled
        for name, total in totals.items():
            widths = evidence.open_widths(name)
            width = evidence.high(name) - evidence.low(name)
            for site in sorted(widths, key=lambda site: (-widths[site], site)):
                if within_share(self.ask, total, width):
                    break
                if site not in moment.missing:
                    width -= widths[site]
                    bounds.track(site, name)
                    bounds.set_width(site, name, 0)
                    asked.setdefault(site, []).append(name)
        return [Post(site, Poll([*names]), "totals") for site, names in sorted(asked.items())]

    def close(self, state: MarginsCoordinatorState, moment: Moment) -> Iterable[Post]:
        evidence = self._unstored.of_epoch(state, moment.epoch)
        self._unstored.settle(state, moment.epoch)
        if state.excess:
            return []
        if evidence is None:
            evidence = Evidence(SumBounds(self.ask, state, moment.sites))
        posts = raise_thresholds(self.ask, state, moment, evidence.bounds) if self._largest else []
        if posts:
            evidence.bounds = SumBounds(self.ask, state, moment.sites)
        return [*posts, *grant_widths(self.ask, state, evidence)]

    def answers(self, state: MarginsCoordinatorState, moment: Moment) -> Answers:
        totals = zip(state.names, state.totals, state.lows, state.highs, strict=True)
        return member_rows(self.ask, moment, totals, unproved=bool(state.excess))

    def certificate(self, state: MarginsCoordinatorState, moment: Moment) -> str:
        return both_sides(self.ask, state.outsider_high, state.member_low, state.excess)

    def faults(self, state: MarginsCoordinatorState) -> list[str]:
        found = [
            f"{name[:80]!r} at {site!r} has a width and is not tracked"
            for site, name in state.widths
            if (site, name) not in state.copies
        ]
        if state.outsider_high - state.member_low > max(self._tolerance, state.excess):
            found.append(f"an outsider may reach {state.outsider_high}, a member lies at {state.member_low} or above")
        return found
