"""Margins: what the coordinator can prove of every item's sum, from copies, widths and thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from monitoring_lib.methods import Ask
from monitoring_lib.protocols.topk.margins.state import MarginsCoordinatorState
from monitoring_lib.protocols.topk.margins.widths import one_sided
from monitoring_lib.protocols.topk.ranking import Ranking
from monitoring_lib.protocols.topk.sums import keeps_zeros


@dataclass(slots=True)
class Item:
    """Sums over an item's tracked pairs: copies, bounds, and the thresholds that do not apply to it."""

    total: int = 0
    low: int = 0
    high: int = 0
    covered: int = 0
    sites: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Evidence:
    """What the coordinator works with in an epoch: the bounds, and which (site, item) pairs spoke unasked.

    Once the test has passed there are `members`; what is polled for their totals does not change who they are.
    The sums of `exact` pairs were polled in this epoch; `polled` holds the items under way by site.
    """

    bounds: SumBounds
    unasked: list[tuple[str, str]] = field(default_factory=list)
    members: list[str] | None = None
    exact: set[tuple[str, str]] = field(default_factory=set)
    polled: dict[str, list[str]] = field(default_factory=dict)

    def low(self, name: str) -> int:
        """What an item's sum is at least, by what was polled too."""
        return self.bounds.low(name) + sum(copy - low for copy, (low, _) in self._polled_pairs(name))

    def high(self, name: str) -> int:
        return self.bounds.high(name) - sum(high - copy for copy, (_, high) in self._polled_pairs(name))

    def open_widths(self, name: str) -> dict[str, int]:
        """How far apart the bounds of an item's sum are at each site that was not polled, where they are."""
        pairs = {site: self.bounds.pair(site, name) for site in self.bounds.sites if (site, name) not in self.exact}
        return {site: high - low for site, (low, high) in pairs.items() if high > low}

    def _polled_pairs(self, name: str) -> Iterator[tuple[int, tuple[int, int]]]:
        """An item's sums that were polled, and the bounds that they would have otherwise."""
        for site in self.bounds.sites if self.exact else ():
            if (site, name) in self.exact:
                yield self.bounds.known.copies.get((site, name)), self.bounds.pair(site, name)


class SumBounds:
    """``low(i) <= V[i] <= high(i)`` for every item i, and ``V[i] <= untold`` for one that nobody named."""

    def __init__(self, ask: Ask, known: MarginsCoordinatorState, sites: tuple[str, ...]) -> None:
        self.known = known
        self.sites = sites
        self._signed = ask.params.signed
        self._one_sided = one_sided(ask)
        self._tracks_all = keeps_zeros(ask)
        self.items: dict[str, Item] = {}
        self.totals: dict[str, int] = {}
        on_roster = set(sites)
        self.untold = sum(self.threshold(site) for site in known.thresholds if site in on_roster)
        for (site, name), copy in known.copies.items():
            if site in on_roster:
                self._count(site, name, copy, 1)

    def floor(self, site: str) -> int:
        return self.known.floors.of(site)

    def threshold(self, site: str) -> int:
        """How far an untracked sum of the site can lie from 0."""
        if self._tracks_all:
            return 0
        threshold = self.known.thresholds.get(site)
        return 0 if threshold is None else max(threshold, self.floor(site))

    def width(self, site: str, name: str) -> int:
        granted: int = self.known.widths.get((site, name))
        return max(granted, self.floor(site))

    def pair(self, site: str, name: str) -> tuple[int, int]:
        """The bounds of an item's sum at one site."""
        if (site, name) not in self.known.copies:
            threshold = self.threshold(site)
            return (-threshold if self._signed else 0), threshold
        copy, width = self.known.copies.get((site, name)), self.width(site, name)
        low = copy if self._one_sided else copy - width
        return (low if self._signed else max(0, low)), copy + width

    def low(self, name: str) -> int:
        item = self.items.get(name)
        if item is None:
            return -self.untold if self._signed else 0
        return item.low - (self.untold - item.covered) if self._signed else item.low

    def high(self, name: str) -> int:
        item = self.items.get(name)
        return self.untold if item is None else item.high + self.untold - item.covered

    def highs(self) -> Iterator[tuple[str, int]]:
        untold = self.untold
        return ((name, item.high + untold - item.covered) for name, item in self.items.items())

    def set_threshold_of_beginner(self, site: str, threshold: int) -> None:
        """The threshold of a site that has told nothing before."""
        self.untold -= self.threshold(site)
        self.known.thresholds[site] = threshold
        self.untold += self.threshold(site)

    def tell(self, site: str, name: str, value: int) -> None:
        """The site has told this sum; the pair is tracked."""
        pair = (site, name)
        if pair in self.known.copies:
            self._count(site, name, self.known.copies.get(pair), -1)
        if value == 0 and self._forgets_zero(site, pair):
            self.known.copies.drop(pair)
        else:
            self.known.copies.set(pair, value)
            self._count(site, name, value, 1)

    def _forgets_zero(self, site: str, pair: tuple[str, str]) -> bool:
        close = self.known.thresholds[site] <= self.floor(site) and pair not in self.known.widths
        return close and not self._tracks_all

    def track(self, site: str, name: str) -> None:
        """The site was asked for an item that it did not track, and holds 0 unless it says otherwise."""
        if (site, name) not in self.known.copies:
            self.known.copies.set((site, name), 0)
            self._count(site, name, 0, 1)

    def set_width(self, site: str, name: str, width: int) -> None:
        """Another width for a tracked pair; 0 is the floor."""
        pair = (site, name)
        copy = self.known.copies.get(pair)
        self._count(site, name, copy, -1)
        if width:
            self.known.widths.set(pair, width)
        else:
            self.known.widths.drop(pair)
        self._count(site, name, copy, 1)

    def forget(self, site: str, name: str) -> None:
        pair = (site, name)
        self._count(site, name, self.known.copies.get(pair), -1)
        self.known.copies.drop(pair)
        self.known.widths.drop(pair)

    def _count(self, site: str, name: str, copy: int, sign: int) -> None:
        """Adds a pair to its item's sums, or takes it out again."""
        item = self.items.get(name)
        if item is None:
            item = self.items[name] = Item()
        floor = self.floor(site)
        width = max(self.known.widths.get((site, name)), floor)
        low = copy if self._one_sided else copy - width
        item.total += sign * copy
        item.low += sign * (low if self._signed else max(0, low))
        item.high += sign * (copy + width)
        item.covered += sign * self.threshold(site)
        if sign > 0:
            item.sites.add(site)
        else:
            item.sites.discard(site)
        if item.sites:
            self.totals[name] = item.total
        else:
            del self.items[name]
            del self.totals[name]

    def best(self, count: int) -> list[tuple[str, int]]:
        """The items of the largest totals (the smallest, where every item is tracked)."""
        if self._tracks_all:
            return Ranking(self.totals).smallest(count)
        return [pair for pair in Ranking(self.totals).largest(count) if pair[1] > 0]
