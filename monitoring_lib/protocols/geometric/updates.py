"""The baseline of both questions: every event crosses, and the coordinator counts the window itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pyarrow as pa

from monitoring_lib.codec import Image, Ints, Names
from monitoring_lib.methods import InnerRole, Moment, SiteRole
from monitoring_lib.network import COORDINATOR, Delivery, NamesLetter, Post
from monitoring_lib.protocols.geometric.window import AtHand, ItemWindow, last_tick
from monitoring_lib.tally import Tally
from monitoring_lib.tick_counts import TickCounts


@dataclass(slots=True)
class Updates(NamesLetter, tag=40, version=1):
    """Every event of a site's epoch: the tick and the item of each. Entries count the events."""

    ticks: Ints
    names: Names

    def __post_init__(self) -> None:
        self.names = Names(self.names)
        if self.ticks.shape != (len(self.names),):
            raise ValueError("ticks: one a name")


@dataclass(slots=True)
class TellingState(Image, tag=41, version=1):
    """A site that tells everything remembers nothing."""

    node: str


@dataclass(slots=True)
class CollectingState(Image, tag=42, version=1):
    """The window's counts by (site, tick, item)."""

    ring: Tally = field(default_factory=Tally)


class TellingSite(SiteRole[TellingState]):
    """Tells every event."""

    State = TellingState

    def start(self, node: str) -> TellingState:
        return TellingState(node)

    def observe(self, state: TellingState, moment: Moment, arriving: TickCounts, expiring: Any) -> Iterable[Post]:
        if len(arriving):
            yield Post(COORDINATOR, Updates(*each_event(arriving)), "happened")


class CollectingCoordinator(InnerRole[CollectingState]):
    """Counts the window of every site from what it tells. Missing sites do not count while they are away."""

    State = CollectingState

    def __init__(self, ask: Any) -> None:
        super().__init__(ask)
        self._windows: AtHand[ItemWindow] = AtHand()

    def start(self, node: str) -> CollectingState:
        return CollectingState()

    def receive(self, state: CollectingState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        assert self.ask.span is not None, "the question takes sliding windows only"
        window, cutoff = self._window(state, moment), last_tick(self.ask, moment) - self.ask.span
        for delivery in inbox:
            letter = cast(Updates, delivery.letter)
            window.take(delivery.sender, _counted(letter), cutoff)
        window.expire(cutoff)
        return ()

    def certificate(self, state: CollectingState, moment: Moment) -> str:
        return f"The coordinator holds every event of the window, as {len(state.ring):,} counts by site, tick and item."

    def counted(self, state: CollectingState, moment: Moment) -> tuple[list[str], Ints]:
        """Items and their counts over the present sites, all of them above 0."""
        window = self._window(state, moment)
        away = window.owners.difference(moment.present)
        counts = window.counts - window.counts_of(away) if away else window.counts
        here = np.flatnonzero(counts)
        return [window.names[number] for number in here.tolist()], counts[here]

    def _window(self, state: CollectingState, moment: Moment) -> ItemWindow:
        found = self._windows.find(state, moment.epoch)
        if found is None or len(found.names) > 2 * found.held + 1024:  # mostly items that have left the window
            found = ItemWindow(state.ring)
        return self._windows.keep(state, moment.epoch, found)


def each_event(arriving: TickCounts) -> tuple[Ints, Names]:
    """Tick and item of every event."""
    each = np.repeat(np.arange(len(arriving)), arriving.counts)
    return arriving.ticks[each], Names(arriving.names.column.take(pa.array(each)))


def _counted(letter: Updates) -> TickCounts:
    """The events of a letter, equal ones as one."""
    if not len(letter.names):
        return TickCounts()
    ones = np.ones(len(letter.names), np.int64)
    return TickCounts.merge_all([TickCounts(letter.ticks, letter.names, ones), TickCounts()])
