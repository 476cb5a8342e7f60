"""Constraints, at the coordinator: who takes part in an epoch, whose requests are served, what is published."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from monitoring_lib.methods import Answer, Ask, InnerRole, Moment
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.topk import messages as letters
from monitoring_lib.protocols.topk.answers import Total, member_rows, partial_row
from monitoring_lib.protocols.topk.constraints_state import ConstraintsCentre, Turns
from monitoring_lib.protocols.topk.pads import item_of_key, items_of, pads
from monitoring_lib.protocols.topk.reallocation import UNIT, Scope
from monitoring_lib.protocols.topk.resolution import Resolution
from monitoring_lib.protocols.topk.sums import keeps_zeros


class Conduct(Resolution):
    """One epoch at the coordinator."""

    def run(self, inbox: Sequence[Delivery]) -> Turns:
        """Opens the epoch, then serves requests as long as sites make them, in the order of the sites."""
        self._enter_roster()
        self._announce_names(inbox)
        if not self.state.started:
            yield from self._start()
            requests: list[Delivery] = []
        else:
            requests = list(inbox)
            yield from self._relieve(inbox, requests)
            for site in sorted(set(self.moment.present).difference(self.state.numbers)):
                self.install_members(site)
            yield from self._refresh()
        while True:
            yield from self._serve(requests)
            requests = yield from self.turn()

    def _enter_roster(self) -> None:
        state = self.state
        if state.period != self.moment.period:
            state.period = self.moment.period
            state.forget_all()
        for site in sorted(set(state.numbers).difference(self.moment.sites)):
            state.forget_site(site)

    def _announce_names(self, inbox: Sequence[Delivery]) -> None:
        """For the smallest: every site knows every item that counts; one that is missing, when it is back."""
        if self.nameless:
            return
        state, sites = self.state, set(self.moment.sites)
        seen = {d.sender: set(d.letter.names) for d in inbox if isinstance(d.letter, letters.Names)}
        for site, names in seen.items():
            for name in names:
                state.named.set((site, name), 1)
        valid = {name for site, name in state.named if site in sites}
        new, gone = valid.difference(state.names), set(state.names) - valid
        state.forget_names(gone)
        for name in new:
            state.names.set(name, 1)
        for site in sorted(sites):
            if site not in self.moment.missing:
                self._announce(site, valid, new - seen.get(site, set()), gone)
            elif site in state.numbers and (new or gone) and site not in state.unheard:
                state.unheard = sorted([*state.unheard, site])
        state.unproved = state.unproved or bool(state.unheard)

    def _announce(self, site: str, valid: set[str], new: set[str], gone: set[str]) -> None:
        state = self.state
        if site in state.unheard or (valid and site not in state.numbers):
            state.unheard = [node for node in state.unheard if node != site]
            unknown = sorted(name for name in valid if (site, name) not in state.named)
            self.post(site, letters.Names(unknown, [], True), "all names")
        elif new or gone:
            self.post(site, letters.Names(sorted(new), sorted(gone)), "names")

    def _start(self) -> Turns:
        """The initial query: the members, and factors for all sites at once."""
        if not self.moment.present or not (self.nameless or self.state.names):
            return
        for site in sorted(self.moment.present):
            self.state.next_number(site)
        self.state.started = True
        if self.nameless:
            scope = Scope(set(pads(self.ask.params.k)))
            yield from self.find_best(scope)
        else:
            scope = Scope(set(self.state.names))
        yield from self.resolve_fully(scope)

    def _refresh(self) -> Turns:
        """A resolution that nobody asked for: k or the tolerance has changed, sites are back or have left."""
        state, k = self.state, self.ask.params.k
        size = k if self.nameless else min(k, len(state.names))
        resized = len(state.members) != size
        short = state.shortfall(self.nameless) > self.tolerance
        if self.frozen:
            state.unproved = state.unproved or resized
        elif resized or short or state.unproved:
            if self.nameless:
                scope = Scope({*state.members, *pads(k)})
            elif resized or state.unproved:
                scope = Scope(set(state.names))
            else:
                limit = min(state.held.get(name) for name in state.members) + self.tolerance
                ahead = (name for name in state.names if state.held.get(name) > limit)
                scope = Scope({*state.members, *ahead})
            yield from self.resolve_fully(scope)

    def _relieve(self, inbox: Sequence[Delivery], requests: list[Delivery]) -> Turns:
        """Appendix C: a member's fall at one site goes to where the fewest outsiders come to stand above it.

        Requests that sites make meanwhile are added to those that wait.
        """
        state = self.state
        reliefs = [(d.sender, d.letter) for d in inbox if isinstance(d.letter, letters.Relief)]
        for giver, relief in reliefs:
            if giver not in state.numbers:
                continue  # it has been away: what it raised is forgotten when it joins
            state.set_factor(giver, relief.member, state.factor(giver, relief.member) + relief.amount)
            for site in self.taking_part:
                if site != giver:
                    self.post(site, letters.WouldFail(relief.member, relief.amount), "relief")
            counts = {giver: relief.outsiders}
            if len(self.taking_part) > 1:
                replies = yield from self.turn()
                requests += replies
                counts |= {d.sender: d.letter.outsiders for d in replies if isinstance(d.letter, letters.Failing)}
            taker = min(counts, key=lambda site: (counts[site], site))
            state.set_factor(taker, relief.member, state.factor(taker, relief.member) - relief.amount)
            number = state.next_number(taker)
            self.post(taker, letters.Lowered(number, relief.member, relief.amount), "relief")

    def _serve(self, requests: Sequence[Delivery]) -> Turns:
        asked = [d for d in requests if isinstance(d.letter, letters.Request | letters.LongList)]
        groups = [asked] if self.ask.options.joint else [[delivery] for delivery in asked]
        for group in groups:
            valid = [delivery for delivery in group if self._is_valid(delivery)]
            if not valid:
                continue
            if any(isinstance(delivery.letter, letters.LongList) for delivery in valid):
                scope = Scope(set(self.state.members))
                yield from self.find_best(scope)
            else:
                scope = self.scope_of(valid)
                if self.keep_members(scope):
                    continue
            yield from self.resolve_fully(scope)

    def _is_valid(self, delivery: Delivery) -> bool:
        """Not made under factors that have been replaced since."""
        letter = delivery.letter
        assert isinstance(letter, letters.Request | letters.LongList)
        return self.state.numbers.get(delivery.sender) == letter.number


class ConstraintsCentreRole(InnerRole[ConstraintsCentre]):
    """Invariants 1 and 2 hold after every turn; with the sites' constraints they make the members valid."""

    State = ConstraintsCentre

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self._nameless = not keeps_zeros(ask)
        self._tolerance = int(ask.params.tolerance * ask.scale * UNIT)

    def start(self, node: str) -> ConstraintsCentre:
        return ConstraintsCentre()

    def receive(self, state: ConstraintsCentre, moment: Moment, inbox: Sequence[Delivery]) -> Iterable[Post]:
        if state.epoch != moment.epoch or state.turns is None:
            state.epoch, state.turns = moment.epoch, Conduct(self.ask, state, moment).run(inbox)
            return next(state.turns)
        return state.turns.send(inbox)

    def answers(self, state: ConstraintsCentre, moment: Moment) -> list[Answer]:
        rows = sorted(self._rows(state, moment), key=lambda row: (-self._sign * row[1], row[0]))
        shortfall = state.shortfall(self._nameless)
        published = member_rows(self.ask, moment, rows[: self.ask.params.k])
        if state.unproved:
            published.append(partial_row(self.ask, moment, None))
        elif shortfall > self._tolerance:
            published.append(partial_row(self.ask, moment, -(-shortfall // UNIT)))
        return published

    @property
    def _sign(self) -> int:
        return 1 if self._nameless else -1

    def _rows(self, state: ConstraintsCentre, moment: Moment) -> Iterator[Total]:
        """A growing member tells nobody, so that only what was told in this epoch bounds it above."""
        fresh = set(state.fresh)
        for name in self._published(state):
            estimate = sum(state.told.get((site, name)) for site in moment.sites)
            if all((site, name) in fresh for site in moment.sites):
                yield item_of_key(name), estimate, estimate, estimate
            else:
                low = self._low(state, moment, name, fresh)
                yield item_of_key(name), estimate if low is None else max(estimate, low), low, None

    def _published(self, state: ConstraintsCentre) -> list[str]:
        """The members but for pads; for the smallest, filled up while a missing site keeps the set as it is."""
        names = items_of(state.members)
        if not self._nameless and len(names) < self.ask.params.k:
            members = set(names)
            names += [name for name in sorted(state.names) if name not in members]
        return names[: max(self.ask.params.k, len(state.members))]

    def _low(self, state: ConstraintsCentre, moment: Moment, name: str, fresh: set[tuple[str, str]]) -> int | None:
        """At every site a member's adjusted sum is at least the nameless object's, 0."""
        if not self._nameless or name not in state.members:
            return None if self.ask.params.signed else 0
        if self.ask.params.signed:
            return -(-state.factor(COORDINATOR, name) // UNIT)
        return sum(
            state.told.get((site, name)) if (site, name) in fresh else max(0, -(state.factor(site, name) // UNIT))
            for site in moment.sites
        )

    def faults(self, state: ConstraintsCentre) -> list[str]:
        return state.wrong_sums()
