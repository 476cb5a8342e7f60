"""Constraints, at a site: as long as every member's adjusted sum is at least every outsider's, it is silent.

Babcock and Olston, "Distributed Top-K Monitoring", section 3: a site tests its constraint once an epoch, with
two order statistics. The outsiders always include a nameless one of sum and factor 0: an object that the site
has never seen. Only where every name is announced to all (the smallest) there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from monitoring_lib.methods import Ask, Moment, SiteRole
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.topk.adjusted import Adjusted
from monitoring_lib.protocols.topk.constraints import letters
from monitoring_lib.protocols.topk.constraints.pads import items_of, keys_of_items
from monitoring_lib.protocols.topk.constraints.state import ConstraintsSiteState
from monitoring_lib.protocols.topk.constraints.watching import watching
from monitoring_lib.protocols.topk.letters import Above, Best, FoundObjects, Poll, Polled, SiteSums, Tell, Told
from monitoring_lib.protocols.topk.sums import absorb, keeps_zeros
from monitoring_lib.synopses.counts import Counts

FASTEST = 2**20
"""Update rates are clipped here."""


class ConstraintsSite(SiteRole[ConstraintsSiteState]):
    """Tests its constraint when its sums or its factors have changed."""

    State = ConstraintsSiteState

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self._all_named = keeps_zeros(ask)
        self._watching = watching(ask)

    def start(self, node: str) -> ConstraintsSiteState:
        return ConstraintsSiteState(node)

    def observe(
        self, state: ConstraintsSiteState, moment: Moment, arriving: Counts, expiring: Counts
    ) -> Iterable[Post]:
        if state.period != moment.period:
            state.period, state.number, state.members = moment.period, 0, []
            for tally in (state.sums, state.elsewhere, state.factors):
                tally.clear()
        arriving = Counts(keys_of_items(arriving.names), arriving.sums)
        expiring = Counts(keys_of_items(expiring.names), expiring.sums)
        new = [name for name in arriving.names if name not in state.sums] if self._all_named else []
        watched = items_of(state.members) if self._watching != "nothing" and state.number else []
        before = state.sums.get_all(watched)
        touched = absorb(self.ask, state.node, state.sums, arriving, expiring)
        state.rate, state.asked, state.relieved = min(FASTEST, len(touched)), [], False
        if new:
            for name in new:
                state.elsewhere.drop(name)
            yield Post(COORDINATOR, letters.ItemNames(sorted(new)), "first sight")
        changes = zip(watched, before, state.sums.get_all(watched), strict=True)
        told = {name: now for name, then, now in changes if now != then and (self._watching == "changes" or not now)}
        if told:
            yield Post(COORDINATOR, SiteSums([*told], [*told.values()]), "member")
        if state.number:
            yield from self._hand_on(state)
            yield from self._test(state)

    def receive(
        self, state: ConstraintsSiteState, moment: Moment, round_: int, inbox: Sequence[Delivery]
    ) -> Iterable[Post]:
        changed = False
        for delivery in inbox:
            letter = delivery.letter
            if isinstance(letter, letters.Factors):
                self._install(state, letter)
                changed = True
            elif isinstance(letter, letters.ItemNames):
                self._learn(state, letter)
                changed = True
            elif isinstance(letter, letters.Lowered):
                state.number, state.relieved, changed = letter.number, True, True
                self._shift(state, letter.member, -letter.amount)
            elif isinstance(letter, letters.WouldFail):
                level = self._view(state).of(letter.member) - letter.amount
                yield Post(COORDINATOR, letters.Failing(self._standing_above(state, level)), "asked")
            elif isinstance(letter, Poll):
                yield Post(COORDINATOR, Polled([state.sums.get(name) for name in letter.names]), "polled")
            else:  # a resolution is under way, at whose end new factors come
                yield Post(COORDINATOR, self._reply(state, letter), "asked")
                changed = False
        if changed and state.number:
            yield from self._test(state)

    def _learn(self, state: ConstraintsSiteState, letter: letters.ItemNames) -> None:
        """Takes in the names of items that others have seen, and forgets those that count no more."""
        valid = {*letter.names, *state.sums} if letter.anew else {*letter.names, *state.sums, *state.elsewhere}
        valid.difference_update(letter.gone)
        for tally in (state.elsewhere, state.factors):
            for name in [name for name in tally if name not in valid]:
                tally.drop(name)
        for name in letter.names:
            if name not in state.sums and name not in state.elsewhere:
                state.elsewhere.set(name, 0)
        state.members = [name for name in state.members if name in valid]

    def _install(self, state: ConstraintsSiteState, letter: letters.Factors) -> None:
        if letter.anew:
            state.factors.clear()
            state.members = []
        state.number = letter.number
        state.members = sorted({*state.members, *letter.entering} - {*letter.leaving})
        for name, factor in zip(letter.names, letter.factors, strict=True):
            self._shift(state, name, factor - state.factors.get(name))

    def _hand_on(self, state: ConstraintsSiteState) -> Iterable[Post]:
        """Appendix C: if a member fell below many outsiders, another site may have room for the fall."""
        most, view = self.ask.options.relief, self._view(state)
        if most is None or state.relieved or not state.members:
            return
        lowest, member = min((view.of(name), name) for name in state.members)
        count = self._standing_above(state, lowest)
        if count <= most:
            return
        outsiders = [view.of(name) for name in view.outsiders_above(lowest)]
        amount = max(outsiders if self._all_named else (0, *outsiders)) - lowest
        state.relieved = True
        self._shift(state, member, amount)
        yield Post(COORDINATOR, letters.Relief(member, amount, count), "long list")

    def _standing_above(self, state: ConstraintsSiteState, level: int) -> int:
        """Outsiders above a level; the nameless one stands for more than any list may hold."""
        nameless = 0 if self._all_named or level >= 0 else 1 + self.ask.options.relief
        return nameless + len(self._view(state).outsiders_above(level))

    def _shift(self, state: ConstraintsSiteState, member: str, amount: int) -> None:
        factor = state.factors.get(member) + amount
        if factor:
            state.factors.set(member, factor)
        else:
            state.factors.drop(member)

    def _test(self, state: ConstraintsSiteState) -> Iterable[Post]:
        view = self._view(state)
        lowest = view.lowest_member()
        if lowest is None:
            return
        outsiders = view.outsiders_above(lowest)
        if not outsiders and (self._all_named or lowest >= 0):
            return
        limit = self.ask.options.long_list
        if limit is not None and len(outsiders) > limit and not self._all_named:
            state.asked = []
            yield Post(COORDINATOR, letters.LongList(state.number, len(outsiders)), "constraint")
            return
        state.asked = [*state.members, *outsiders]
        sums = [state.sums.get(name) for name in (*items_of(state.members), *outsiders)]
        border = view.border(set(state.asked))
        yield Post(COORDINATOR, letters.Request(state.number, outsiders, sums, border, state.rate), "constraint")

    def _reply(self, state: ConstraintsSiteState, letter: object) -> Told | FoundObjects:
        view = self._view(state)
        if isinstance(letter, Tell):
            state.asked = [*letter.names] if letter.anew else [*state.asked, *letter.names]
            sums = [state.sums.get(name) for name in letter.names]
            return Told(sums, view.border({*state.asked}), state.rate)
        members: list[str] = []
        if isinstance(letter, Best):
            names = view.best_outsiders(letter.count)
            members = items_of(state.members)
            state.asked = [*state.members, *names]
        else:
            assert isinstance(letter, Above)
            asked = set(state.asked)
            names = [name for name in view.outsiders_above(letter.level) if name not in asked]
            state.asked = [*state.asked, *names]
        sums = [state.sums.get(name) for name in (*members, *names)]
        return FoundObjects(names, sums, view.border(set(state.asked)), state.rate)

    def _view(self, state: ConstraintsSiteState) -> Adjusted:
        return Adjusted(state.sums, state.factors, state.members, self._all_named, state.elsewhere)
