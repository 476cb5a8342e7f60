"""Resolution: what the coordinator of `constraints` does when a site's constraint fails.

Babcock and Olston, "Distributed Top-K Monitoring", section 3.1. Phase 1 is the site's request. In phase 2 the
coordinator and that site alone try to keep the set; in phase 3 all sites tell the sums of the objects in
question, the set is chosen anew, and factors are spread over all nodes. Beyond the paper: where the borders add
up to more than the lowest member, sites are asked for what stands above their part of it, because objects that
nobody has named bound a border from below.
"""

from __future__ import annotations

from collections.abc import Collection

from monitoring_lib.errors import ProtocolError
from monitoring_lib.protocols.topk.constraints import letters
from monitoring_lib.protocols.topk.constraints.exchange import Asking, Exchange
from monitoring_lib.protocols.topk.constraints.pads import is_pad, pads
from monitoring_lib.protocols.topk.constraints.reallocation import (
    Reallocation,
    ResolutionScope,
    Split,
    split_leeway,
    validates,
)

PATIENCE = 6
"""Exchanges in which doubtful objects are asked for a few at a time; then all at once."""


class Resolution(Exchange):
    """Resolutions of one epoch."""

    def keep_members(self, scope: ResolutionScope) -> bool:
        """Phase 2: whether the sites of the scope and the coordinator can settle it among themselves."""
        tolerance = max(self.tolerance, self.allocation.shortfall(self.nameless))  # wider while sites are missing
        tried = self._try(scope, set(self.state.members), tolerance)
        if not validates(tried.leeways, tried.members):
            return False
        if self.ask.options.strict_validation and not self._strictly_valid(tried):
            return False
        self._apply(tried)
        return True

    def _strictly_valid(self, tried: Reallocation) -> bool:
        """The test as printed, without the tolerance, of the pairs whose constraint failed at some site."""
        for site, told in tried.scope.sums.items():
            adjusted = {name: value + self.allocation.factor(site, name) for name, value in told.items()}
            for name in adjusted.keys() - tried.members:
                failed = [member for member in tried.members if adjusted[member] < adjusted[name]]
                if any(tried.above_borders[member] < tried.above_borders[name] for member in failed):
                    return False
        return True

    def resolve_fully(self, scope: ResolutionScope) -> Asking:
        """Phase 3: with all sites; the set may change. All constraints hold afterwards."""
        yield from self.complete(scope, scope.names if not self.frozen else scope.names | scope.loose)
        patience, widened = PATIENCE, False
        while True:
            tried = self._choose(scope)
            doubtful = tried.doubtful()
            known = [name for name in doubtful if scope.is_told(name)]
            if known:
                scope.adopt(known)
            elif doubtful:
                patience -= 1
                few = 2 * self.ask.params.k if patience > 0 else len(doubtful)
                yield from self.complete(scope, doubtful[:few])
            elif tried.lowest < 0 and self._others_outside(scope) and not widened:
                widened = True
                yield from self._widen(scope, tried.members)
            else:
                break
        if not self.frozen:
            self.state.unproved = False
        self.state.largest_total = max((scope.total(name) for name in scope.names), default=0)
        self._apply(tried)

    def _widen(self, scope: ResolutionScope, members: Collection[str]) -> Asking:
        """Takes in what stands above each site's part of the lowest member's sum; then the borders fit below."""
        lowest = min(scope.total(name) for name in members) + self.tolerance
        borders = sum(scope.borders.values())
        parts = {site: border * lowest // borders for site, border in scope.borders.items()} if borders else {}
        levels = {site: part for site, part in parts.items() if part < scope.borders[site]}
        scope.loose.update(name for name in self.allocation.held_above_zero() if name not in scope.names)
        if levels:
            yield from self.find_above(scope, levels)
        self.fill_pads(scope)

    def _choose(self, scope: ResolutionScope) -> Reallocation:
        """The k best objects that are known everywhere, ties keep members, pads before items of sum 0.

        While a site is missing, no others than before.
        """
        before = set(self.state.members)
        if self.frozen:
            scope.adopt([*scope.loose])
            return self._try(scope, before, self._tolerance_while_missing(scope, before))
        size = self.ask.params.k if self.nameless else min(self.ask.params.k, len(self.state.names))
        known = [*scope.names, *(name for name in scope.loose if scope.is_told(name))]
        totals = {name: scope.total(name) for name in known}
        if self.nameless and sum(total > 0 for total in totals.values()) < size:
            scope.adopt(pads(size))
            self.fill_pads(scope)
            totals |= dict.fromkeys(pads(size), 0)
        ordered = sorted(totals, key=lambda n: (-totals[n], totals[n] == 0 and not is_pad(n), n not in before, n))
        scope.adopt(ordered[:size])
        return self._try(scope, set(ordered[:size]), self.tolerance)

    def _tolerance_while_missing(self, scope: ResolutionScope, members: Collection[str]) -> int:
        """The least tolerance under which the present members can stay."""
        above = self._try(scope, members, 0).above_borders
        highest = max((above[name] for name in scope.names if name not in members), default=0)
        return max(self.tolerance, max(0, highest) - min((above[name] for name in members), default=0))

    def _try(self, scope: ResolutionScope, members: Collection[str], tolerance: int) -> Reallocation:
        held = self.allocation.highest_held_outside(scope.names | scope.loose, self.nameless)
        if held is None:  # all objects are in the scope: any level will do
            held = min((self.state.held.get(name) for name in self.state.members), default=0) + tolerance
        split = self._split(scope.borders)
        return Reallocation(scope, self.allocation.factor, held, tolerance, members, split)

    def _split(self, sites: Collection[str]) -> Split:
        options = self.ask.options
        small = self.tolerance * 1000 < self.state.largest_total
        proportional = options.split == "proportional" or (options.split == "auto" and small)
        if options.held_back == "auto":
            held_back = (1, 2) if small else (0, 1)
        else:
            held_back = options.held_back.as_integer_ratio()
        return split_leeway(sites, self.rates if proportional else None, held_back)

    def _apply(self, tried: Reallocation) -> None:
        """Sets the new factors and sends them; tells of members who entered and left."""
        others_outside = self._others_outside(tried.scope)
        if others_outside and not validates(tried.leeways, tried.members):
            raise ProtocolError(
                f"constraints finds no valid factors in epoch {self.moment.epoch}:"
                f" the lowest member's leeway is {tried.lowest}"
            )
        state, fresh = self.state, tried.assign()
        slacks = tried.slacks(others_outside)
        state.slacks = state.slacks | slacks if slacks else {}
        entering = sorted(set(tried.members).difference(state.members))
        leaving = sorted(set(state.members).difference(tried.members))
        changed: dict[str, dict[str, int]] = {site: {} for site in sorted(tried.scope.borders)}
        for (node, name), factor in fresh.items():
            if factor != self.allocation.factor(node, name):
                self.allocation.set_factor(node, name, factor)
                if node in changed:
                    changed[node][name] = factor
        for site, factors in changed.items():
            names = sorted(factors)
            letter = letters.Factors(
                state.next_number(site), names, [factors[name] for name in names], entering, leaving
            )
            self.post(site, letter, "reallocation")
        state.members = sorted(tried.members)
        for pair in [pair for pair in state.told if pair[1] not in tried.members]:
            state.told.drop(pair)

    def _others_outside(self, scope: ResolutionScope) -> bool:
        """Whether there are objects that the scope does not hold: the nameless one, or known ones."""
        return self.nameless or any(name not in scope.names for name in self.state.names)

    def install_members(self, site: str) -> None:
        """A site that joins is sent the members; its factors are 0."""
        number = self.state.next_number(site)
        self.post(site, letters.Factors(number, [], [], self.state.members, [], True), "joins")
