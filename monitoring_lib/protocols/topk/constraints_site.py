"""Constraints, at a site: as long as every member's adjusted sum is at least every outsider's, it is silent.

Babcock and Olston, "Distributed Top-K Monitoring", section 3: a site tests its constraint once an epoch, with
two order statistics. The outsiders always include a nameless one of sum and factor 0: an object that the site
has never seen. Only where every name is announced to all (the smallest) there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from monitoring_lib.codec import Image
from monitoring_lib.methods import Ask, Moment, SiteRole
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.topk import messages as letters
from monitoring_lib.protocols.topk.adjusted import Adjusted
from monitoring_lib.protocols.topk.pads import items_of, keys_of_items
from monitoring_lib.protocols.topk.sums import absorb, keeps_zeros
from monitoring_lib.synopses.counts import Counts
from monitoring_lib.tally import Tally

FASTEST = 2**20
"""Update rates are clipped here."""


@dataclass(slots=True)
class ConstraintsSite(Image, tag=12, version=1):
    """A site's sums and factors, the members, and the number of the last factors it got (0: none yet).

    `elsewhere` are the items that only others have seen, where all must be known (the smallest).
    `relieved` says that the site has handed a fall on, or taken one over, in this epoch. `asked` holds the
    objects that the resolution under way is about, as far as the site has told of them.
    """

    node: str
    period: int = 0
    number: int = 0
    members: list[str] = field(default_factory=list)
    sums: Tally = field(default_factory=Tally)
    elsewhere: Tally = field(default_factory=Tally)
    factors: Tally = field(default_factory=Tally)
    rate: int = 0
    relieved: bool = False
    asked: list[str] = field(default_factory=list)


class ConstraintsSiteRole(SiteRole[ConstraintsSite]):
    """Tests its constraint when its sums or its factors have changed."""

    State = ConstraintsSite

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self._all_named = keeps_zeros(ask)

    def start(self, node: str) -> ConstraintsSite:
        return ConstraintsSite(node)

    def observe(self, state: ConstraintsSite, moment: Moment, arriving: Counts, expiring: Counts) -> Iterable[Post]:
        if state.period != moment.period:
            state.period, state.number, state.members = moment.period, 0, []
            for tally in (state.sums, state.elsewhere, state.factors):
                tally.clear()
        arriving = Counts(keys_of_items(arriving.names), arriving.sums)
        expiring = Counts(keys_of_items(expiring.names), expiring.sums)
        new = [name for name in arriving.names if name not in state.sums] if self._all_named else []
        touched = absorb(self.ask, state.node, state.sums, arriving, expiring)
        state.rate, state.asked, state.relieved = min(FASTEST, len(touched)), [], False
        if new:
            for name in new:
                state.elsewhere.drop(name)
            yield Post(COORDINATOR, letters.Names(sorted(new)), "first sight")
        if state.number:
            yield from self._hand_on(state)
            yield from self._test(state)

    def receive(self, state: ConstraintsSite, moment: Moment, inbox: Sequence[Delivery]) -> Iterable[Post]:
        changed = False
        for delivery in inbox:
            letter = delivery.letter
            if isinstance(letter, letters.Factors):
                self._install(state, letter)
                changed = True
            elif isinstance(letter, letters.Names):
                self._learn(state, letter)
                changed = True
            elif isinstance(letter, letters.Lowered):
                state.number, state.relieved, changed = letter.number, True, True
                self._shift(state, letter.member, -letter.amount)
            elif isinstance(letter, letters.WouldFail):
                level = self._view(state).of(letter.member) - letter.amount
                yield Post(COORDINATOR, letters.Failing(self._standing_above(state, level)), "asked")
            elif isinstance(letter, letters.Poll):
                yield Post(COORDINATOR, letters.Polled([state.sums.get(name) for name in letter.names]), "polled")
            else:  # a resolution is under way, at whose end new factors come
                yield Post(COORDINATOR, self._reply(state, letter), "asked")
                changed = False
        if changed and state.number:
            yield from self._test(state)

    def _learn(self, state: ConstraintsSite, letter: letters.Names) -> None:
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

    def _install(self, state: ConstraintsSite, letter: letters.Factors) -> None:
        if letter.anew:
            state.factors.clear()
            state.members = []
        state.number = letter.number
        state.members = sorted({*state.members, *letter.entering} - {*letter.leaving})
        for name, factor in zip(letter.names, letter.factors, strict=True):
            self._shift(state, name, factor - state.factors.get(name))

    def _hand_on(self, state: ConstraintsSite) -> Iterable[Post]:
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

    def _standing_above(self, state: ConstraintsSite, level: int) -> int:
        """Outsiders above a level; the nameless one stands for more than any list may hold."""
        nameless = 0 if self._all_named or level >= 0 else 1 + self.ask.options.relief
        return nameless + len(self._view(state).outsiders_above(level))

    def _shift(self, state: ConstraintsSite, member: str, amount: int) -> None:
        factor = state.factors.get(member) + amount
        if factor:
            state.factors.set(member, factor)
        else:
            state.factors.drop(member)

    def _test(self, state: ConstraintsSite) -> Iterable[Post]:
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

    def _reply(self, state: ConstraintsSite, letter: object) -> letters.Told | letters.Found:
        view = self._view(state)
        if isinstance(letter, letters.Tell):
            state.asked = [*letter.names] if letter.anew else [*state.asked, *letter.names]
            sums = [state.sums.get(name) for name in letter.names]
            return letters.Told(sums, view.border({*state.asked}), state.rate)
        members: list[str] = []
        if isinstance(letter, letters.Best):
            names = view.best_outsiders(letter.count)
            members = items_of(state.members)
            state.asked = [*state.members, *names]
        else:
            assert isinstance(letter, letters.Above)
            asked = set(state.asked)
            names = [name for name in view.outsiders_above(letter.level) if name not in asked]
            state.asked = [*state.asked, *names]
        sums = [state.sums.get(name) for name in (*members, *names)]
        return letters.Found(names, sums, view.border(set(state.asked)), state.rate)

    def _view(self, state: ConstraintsSite) -> Adjusted:
        return Adjusted(state.sums, state.factors, state.members, self._all_named, state.elsewhere)
