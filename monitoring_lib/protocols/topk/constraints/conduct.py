"""Constraints: one epoch at the coordinator: who takes part, and whose requests are served."""

from __future__ import annotations

from collections.abc import Sequence

from monitoring_lib.network import Delivery
from monitoring_lib.protocols.topk.constraints import letters
from monitoring_lib.protocols.topk.constraints.pads import items_of, pads
from monitoring_lib.protocols.topk.constraints.reallocation import ResolutionScope
from monitoring_lib.protocols.topk.constraints.resolution import Resolution
from monitoring_lib.unstored import Turns


class Conduct(Resolution):
    """One epoch at the coordinator."""

    def run(self, inbox: Sequence[Delivery]) -> Turns:
        """Opens the epoch, then serves requests as long as sites make them, in the order of the sites."""
        self._enter_roster()
        self.carry_on()
        self.hear_members(inbox)
        self._announce_names(inbox)
        if not self.state.started:
            yield from self._start()
            requests: list[Delivery] = []
        else:
            requests = list(inbox)
            yield from self._relieve(inbox, requests)
            for site in sorted(set(self.moment.present).difference(self.state.numbers)):
                self.install_members(site)
                self.joined.add(site)
            yield from self._refresh()
        while True:
            yield from self._serve(requests)
            yield from self._let_go()
            self.poll_members()
            requests = yield from self.turn()

    def _enter_roster(self) -> None:
        state = self.state
        if state.period != self.moment.period:
            state.period = self.moment.period
            self.allocation.forget_all()
        for site in sorted(set(state.numbers).difference(self.moment.sites)):
            self.allocation.forget_site(site)

    def _announce_names(self, inbox: Sequence[Delivery]) -> None:
        """For the smallest: every site knows every item that counts; one that is missing, when it is back."""
        if self.nameless:
            return
        state, sites = self.state, set(self.moment.sites)
        seen = {d.sender: set(d.letter.names) for d in inbox if isinstance(d.letter, letters.ItemNames)}
        for site, names in seen.items():
            for name in names:
                state.named.set((site, name), 1)
        valid = {name for site, name in state.named if site in sites}
        new, gone = valid.difference(state.names), set(state.names) - valid
        self.allocation.forget_names(gone)
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
            self.post(site, letters.ItemNames(unknown, [], True), "all names")
        elif new or gone:
            self.post(site, letters.ItemNames(sorted(new), sorted(gone)), "names")

    def _start(self) -> Turns:
        """The initial query: the members, and factors for all sites at once."""
        if not self.moment.present or not (self.nameless or self.state.names):
            return
        for site in sorted(self.moment.present):
            self.state.next_number(site)
        self.state.started = True
        if self.nameless:
            scope = ResolutionScope(set(pads(self.ask.params.k)))
            yield from self.find_best(scope)
        else:
            scope = ResolutionScope(set(self.state.names))
        yield from self.resolve_fully(scope)

    def _refresh(self) -> Turns:
        """A resolution that nobody asked for: k or the tolerance has changed, sites are back or have left."""
        state, k = self.state, self.ask.params.k
        size = k if self.nameless else min(k, len(state.names))
        resized = len(state.members) != size
        short = self.allocation.shortfall(self.nameless) > self.tolerance
        if self.frozen:
            state.unproved = state.unproved or resized
        elif resized or short or state.unproved:
            if self.nameless:
                scope = ResolutionScope({*state.members, *pads(k)})
            elif resized or state.unproved:
                scope = ResolutionScope(set(state.names))
            else:
                limit = min(state.held.get(name) for name in state.members) + self.tolerance
                ahead = (name for name in state.names if state.held.get(name) > limit)
                scope = ResolutionScope({*state.members, *ahead})
            yield from self.resolve_fully(scope)

    def _relieve(self, inbox: Sequence[Delivery], requests: list[Delivery]) -> Turns:
        """Appendix C: a member's fall at one site goes to where the fewest outsiders come to stand above it.

        Requests that sites make meanwhile are added to those that wait.
        """
        state, allocation = self.state, self.allocation
        reliefs = [(d.sender, d.letter) for d in inbox if isinstance(d.letter, letters.Relief)]
        for giver, relief in reliefs:
            if giver not in state.numbers:
                continue  # it has been away: what it raised is forgotten when it joins
            allocation.set_factor(giver, relief.member, allocation.factor(giver, relief.member) + relief.amount)
            for site in self.taking_part:
                if site != giver:
                    self.post(site, letters.WouldFail(relief.member, relief.amount), "relief")
            counts = {giver: relief.outsiders}
            if len(self.taking_part) > 1:
                replies = yield from self.turn()
                requests += replies
                counts |= {d.sender: d.letter.outsiders for d in replies if isinstance(d.letter, letters.Failing)}
            taker = min(counts, key=lambda site: (counts[site], site))
            allocation.set_factor(taker, relief.member, allocation.factor(taker, relief.member) - relief.amount)
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
                scope = ResolutionScope(set(self.state.members))
                yield from self.find_best(scope)
            else:
                scope = self.scope_of(valid)
                if self.keep_members(scope):
                    continue
            yield from self.resolve_fully(scope)

    def _let_go(self) -> Turns:
        """A member of which nothing is left gives way to a pad: its sum may not grow again unseen."""
        self.record()
        gone = [name for name in items_of(self.state.members) if self.is_gone(name)]
        if gone and self.watching == "ends" and self.taking_part and not self.frozen:
            yield from self.resolve_fully(ResolutionScope({*self.state.members, *pads(self.ask.params.k)}))

    def _is_valid(self, delivery: Delivery) -> bool:
        """Not made under factors that have been replaced since."""
        letter = delivery.letter
        assert isinstance(letter, letters.Request | letters.LongList)
        return self.state.numbers.get(delivery.sender) == letter.number
