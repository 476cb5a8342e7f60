"""Margins: what the coordinator can prove of every item's sum, from copies, widths and thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from monitoring_lib.codec import Image
from monitoring_lib.methods import Ask
from monitoring_lib.protocols.topk.lagging import Lagging
from monitoring_lib.protocols.topk.margins_widths import one_sided
from monitoring_lib.protocols.topk.ranking import Ranking
from monitoring_lib.protocols.topk.sums import keeps_zeros
from monitoring_lib.tally import Tally


@dataclass(slots=True)
class MarginsCentre(Image, tag=11, version=1):
    """What the coordinator and the sites have agreed on, what it published, and the proof.

    `copies` holds the tracked (site, item) pairs, `widths` those of them with a width above the floor,
    `thresholds` the sites that have begun. `spoken` counts the epochs in which an item spoke unasked since it
    was last asked for, `waits` how many there must be before it is granted a width.

    The proof: no outsider exceeds `outsider_high`, no member (in the order of the question) lies below
    `member_low`, and the former exceeds the latter by at most the tolerance, or by `excess` if sites are missing.
    """

    period: int = 0
    floors: Lagging = field(default_factory=Lagging)
    thresholds: dict[str, int] = field(default_factory=dict)
    copies: Tally = field(default_factory=Tally)
    widths: Tally = field(default_factory=Tally)
    spoken: Tally = field(default_factory=Tally)
    waits: Tally = field(default_factory=Tally)
    names: list[str] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)
    lows: list[int] = field(default_factory=list)
    highs: list[int] = field(default_factory=list)
    member_low: int = 0
    outsider_high: int = 0
    excess: int = 0
    epoch: int | None = field(default=None, init=False, compare=False, repr=False)
    unasked: list[tuple[str, str]] = field(default_factory=list, init=False, compare=False, repr=False)
    bounds: Bounds | None = field(default=None, init=False, compare=False, repr=False)


@dataclass(slots=True)
class Item:
    """Sums over an item's tracked pairs: copies, bounds, and the thresholds that do not apply to it."""

    total: int = 0
    low: int = 0
    high: int = 0
    covered: int = 0
    sites: set[str] = field(default_factory=set)


class Bounds:
    """``low(i) <= V[i] <= high(i)`` for every item i, and ``V[i] <= untold`` for one that nobody named."""

    def __init__(self, ask: Ask, known: MarginsCentre, sites: tuple[str, ...]) -> None:
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
