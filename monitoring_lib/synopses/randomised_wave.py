"""The randomised wave: a sampled window counter, larger than the deterministic ones, that merges without loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from monitoring_lib.codec import Ints
from monitoring_lib.hashing import Hashes, draw
from monitoring_lib.synopses._counters import Counted, Counters, checked_error
from monitoring_lib.synopses._rows import CellColumns
from monitoring_lib.synopses._tiers import insert, join, tally, tiers_in_order, with_more_tiers
from monitoring_lib.synopses._window import Basis, EventWindow, WeightedTicks
from monitoring_lib.synopses._window_counter import WindowCounter

_MASK = (1 << 64) - 1
_PADDING = np.iinfo(np.int64).max


@dataclass(slots=True)
class RandomisedWaves(Counters):
    """Randomised waves side by side, one set of `coins` for all of them."""

    promised_error: float
    promised_doubt: float
    coins: int
    count: Ints
    """Events of each cell since the last merge."""
    inherited: Ints
    """Entries of each cell's top tier that came from merges."""
    pushed: Ints
    loses: Ints
    lost: Ints
    rings: Ints
    _seeds: Hashes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        checked_error(self.promised_error)
        if not 0 < self.promised_doubt < 1:
            raise ValueError(f"doubt: {self.promised_doubt} is not between 0 and 1")
        shape = self.rings.shape
        if len(shape) != 3 or shape[2] != entries_for(self.promised_error, self.promised_doubt):
            raise ValueError(f"rings: shape {shape} does not fit the error {self.promised_error}")
        if not self.pushed.shape == self.loses.shape == self.lost.shape == shape[:2] or shape[0] > 62:
            raise ValueError(f"pushed, loses, lost: of other shapes than {shape[:2]}, or more than 62 tiers")
        if not self.count.shape == self.inherited.shape == shape[1:2]:
            raise ValueError(f"count, inherited: of other lengths than {shape[1]}")
        if min(self.count.min(), self.inherited.min(), self.pushed.min()) < 0:
            raise ValueError("count, inherited, pushed: negative")
        if self.pushed[-1].max() > shape[2] or self.loses[-1].any() or (self.inherited > self.pushed[-1]).any():
            raise ValueError("pushed, loses, inherited: the top tier has lost entries")
        self._seeds = draw(self.coins, shape[1])

    @classmethod
    def for_error(cls, error: float, doubt: float, coins: int, cells: int) -> RandomisedWaves:
        """Waves that each keep `error` but for a probability of `doubt`."""
        layer = np.zeros((1, cells), np.int64)
        rings = np.zeros((1, cells, entries_for(error, doubt)), np.int64)
        count = np.zeros(cells, np.int64)
        return cls(error, doubt, coins & _MASK, count, count.copy(), layer, layer.copy(), layer.copy(), rings)

    @property
    def cells(self) -> int:
        return int(self.rings.shape[1])

    @property
    def error(self) -> float:
        return self.promised_error

    @property
    def worst_error(self) -> float:
        return self.promised_error

    @property
    def doubt(self) -> float:
        return self.promised_doubt

    def insert(self, base: int, width: int, columns: CellColumns, arrivals: WeightedTicks, horizon: int) -> None:
        weights = np.ones(len(columns), np.int64) if arrivals.weights is None else arrivals.weights
        done = 0
        while True:
            state = (self._seeds, self.count, self.pushed, self.rings)
            done = insert(columns, base, arrivals.ticks, weights, arrivals.step, done, *state)
            if done == len(columns):
                return
            tiers, _, entries = self.rings.shape
            self._add_tiers(max(1, ((int(weights[done]) >> (tiers - 1)) // entries).bit_length() - 1))

    def _add_tiers(self, more: int) -> None:
        self.inherited, self.pushed, self.loses, self.lost, self.rings = with_more_tiers(
            more, self._seeds, self.inherited, self.pushed, self.loses, self.lost, self.rings
        )

    def tally(self, cutoff: int) -> Counted:
        found, tiers = np.empty(self.cells, np.int64), np.empty(self.cells, np.int64)
        tally(cutoff, self.pushed, self.loses, self.lost, self.rings, found, tiers)
        estimate = found * 2.0**tiers
        spread = np.where(tiers > 0, self.error, 0.0)
        return Counted(estimate, estimate / (1 + spread), estimate / (1 - spread))

    def contradiction(self, newest: int, events: int) -> str | None:
        """A tier holds a share of 2 ** -tier of the events, and four times that and 64 more with a probability below
        2 ** -64; tiers are added while the top one is full, so none of them is far above the last event."""
        shares = 2.0 ** -np.arange(len(self.pushed))
        if int(self.count.max()) > events or (self.pushed > 4 * events * shares[:, None] + 64).any():
            return f"more entries than {events} events can have left"
        if len(self.pushed) > 4 + events.bit_length():
            return f"{len(self.pushed)} tiers for {events} events"
        if not np.isin(self.loses, (0, 1)).all() or (self.lost[self.loses > 0] > newest).any():
            return "loses, lost: neither 0 nor 1, or a tick that lies ahead"
        return None if tiers_in_order(self.pushed, self.rings, newest) else "ticks that fall or lie ahead"

    def mismatch(self, other: RandomisedWaves) -> str | None:
        for name in ("promised_error", "promised_doubt", "cells"):
            if getattr(self, name) != getattr(other, name):
                return f"{name}: {getattr(self, name)} against {getattr(other, name)}"
        if self.coins == other.coins:
            return f"coins: {self.coins} twice; make every site's waves with coins of its own"
        return None

    def copy(self) -> RandomisedWaves:
        arrays = (self.count, self.inherited, self.pushed, self.loses, self.lost, self.rings)
        copies = [array.copy() for array in arrays]
        return RandomisedWaves(self.promised_error, self.promised_doubt, self.coins, *copies)

    @classmethod
    def joined(cls, banks: Sequence[Self], edge: int) -> Self:
        """Every part is first continued to the same tier, so deep that all top tiers fit into one: nothing is lost."""
        if len({bank.coins for bank in banks}) < len(banks):
            raise ValueError("coins: the same twice; make every site's waves with coins of its own")
        model, parts = banks[0], [bank.copy() for bank in banks]
        entries, tiers = model.rings.shape[2], max(bank.rings.shape[0] for bank in banks)
        while True:
            for part in parts:
                if part.rings.shape[0] < tiers:
                    part._add_tiers(tiers - part.rings.shape[0])
            if sum(part.pushed[-1] for part in parts).max() <= entries:
                break
            tiers += 1
        mixed = sum(int(draw(bank.coins, 1)[0]) for bank in banks) & _MASK
        count = np.zeros(model.cells, np.int64)
        loses, lost = _losses(parts)
        pushed, rings = np.zeros_like(loses), np.zeros((tiers, model.cells, entries), np.int64)
        for tier in range(tiers):
            lengths = np.array([np.minimum(part.pushed[tier], entries) for part in parts])
            ticks = np.concatenate(
                [
                    np.where(np.arange(entries) < length[:, None], part.rings[tier], _PADDING)
                    for part, length in zip(parts, lengths, strict=True)
                ],
                axis=1,
            )
            ticks.sort(axis=1)
            join(ticks, lengths.sum(axis=0), pushed[tier], loses[tier], lost[tier], rings[tier])
        lost[loses == 0] = 0
        return cls(
            model.promised_error, model.promised_doubt, mixed, count, pushed[-1].copy(), pushed, loses, lost, rings
        )


@dataclass(slots=True)
class RandomisedWave(WindowCounter, tag=13, version=1):
    """One counter over the last `window` ticks or arrivals. For every range inside the window::

        |estimate - exact| <= error * exact       with probability confidence, after any number of merges

    over the coins. Tier l samples the events with probability 2 ** -l and keeps the newest
    ``6 (1 + error) ln(2 / (1 - confidence)) / error ** 2`` of them; the estimate comes from the lowest tier
    that still has all of the range, times 2 ** l, and is exact while that is tier 0. (The factor 1 + error covers the
    ranges of which the tier below held almost all.) Of two neighbours in a tier exactly one goes on to the next:
    the number of a range's events in a tier is then a sum of independent trials with the mean that the paper's
    independent coins give, so that its Chernoff bound holds, and a bulk of any size is placed at once.

    Every site must draw its own `coins`; merging refuses equal ones. Gibbons and Tirthapura, Distributed Streams
    Algorithms for Sliding Windows, section 4; Papapetrou, Garofalakis and Deligiannakis, Sketching Distributed
    Sliding-Window Data Streams, sections 4.2 and 5.2.
    """

    window: EventWindow
    counters: RandomisedWaves

    @classmethod
    def for_error(
        cls,
        error: float,
        confidence: float,
        window: int,
        coins: int,
        *,
        basis: Basis = "time",
        lateness: int = 0,
    ) -> RandomisedWave:
        """A wave for this error and confidence; `coins` is the site's own seed."""
        if not 0 < confidence < 1:
            raise ValueError(f"confidence: {confidence} is not between 0 and 1")
        waves = RandomisedWaves.for_error(error, 1 - confidence, coins, 1)
        return cls(EventWindow(window, basis, lateness), waves)


def _losses(parts: Sequence[RandomisedWaves]) -> tuple[Ints, Ints]:
    """Which tiers of which cells lack events of some part, and the newest tick that they can lack."""
    loses, lost = np.zeros_like(parts[0].loses), np.full_like(parts[0].lost, np.iinfo(np.int64).min)
    for part in parts:
        entries = part.rings.shape[2]
        oldest = np.take_along_axis(part.rings, (part.pushed % entries)[:, :, None], axis=2)[:, :, 0]
        for missing, tick in ((part.loses > 0, part.lost), (part.pushed > entries, oldest)):
            loses[missing] = 1
            lost = np.where(missing, np.maximum(lost, tick), lost)
    return loses, lost


def entries_for(error: float, doubt: float) -> int:
    """Entries that a tier must keep for a relative error that is missed with a probability of at most `doubt`."""
    return math.ceil(6 * (1 + error) * math.log(2 / doubt) / error**2)
