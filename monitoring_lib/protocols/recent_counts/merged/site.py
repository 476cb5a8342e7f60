"""Merged sketches, at a site: counts what happens, tells what changed when sketches are merged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from monitoring_lib.codec import Image
from monitoring_lib.methods import Ask, Moment, SiteRole
from monitoring_lib.network import COORDINATOR, Post
from monitoring_lib.protocols.recent_counts.merged.design import Design
from monitoring_lib.protocols.recent_counts.merged.letters import ToldSketches
from monitoring_lib.protocols.recent_counts.merged.log import MOST_ROWS, Log
from monitoring_lib.protocols.recent_counts.merged.rhythm import merges
from monitoring_lib.protocols.recent_counts.merged.sketches import Sketches
from monitoring_lib.protocols.recent_counts.merged.view import candidates
from monitoring_lib.tally import Tally
from monitoring_lib.tick_counts import TickCounts
from monitoring_lib.topology import Tree


@dataclass(slots=True)
class SketchingState(Image, tag=20, version=2):
    """The site's sketches as they are and as they were told; recent items with the last tick of each.

    `ahead` are the former, None where the two are the same: most of the time, and then they are stored once.
    `untold` are the counts that lie between the two, None once they are too many.
    """

    node: str
    ahead: Sketches | None
    told: ToldSketches
    untold: Log | None = field(default_factory=Log)
    recent: Tally = field(default_factory=Tally)
    owed: bool = False

    @property
    def sketches(self) -> Sketches:
        return self.told.sketches if self.ahead is None else self.ahead


class SketchingSite(SiteRole[SketchingState]):
    """Ranges slide without its help: a site with nothing new and the same candidates stays silent."""

    State = SketchingState

    def __init__(self, ask: Ask, design: Design) -> None:
        super().__init__(ask)
        self.design = design
        heavy = ask.params.of_kind("heavy_hitters")
        self.shares = [(query.heavy_hitters, query.ticks(ask)) for query in heavy]

    def start(self, node: str) -> SketchingState:
        return SketchingState(node, None, ToldSketches(self.design.empty(node)))

    def observe(self, state: SketchingState, moment: Moment, arriving: TickCounts, expiring: Any) -> Iterable[Post]:
        if len(arriving):
            self._count(state, arriving)
            self._remember(state, moment, arriving)
        merging = merges(moment, self.ask.options.every, state.owed)
        state.owed = moment.owed
        if not merging:
            return
        now = (moment.epoch + 1) * self.ask.ticks - 1
        names = candidates(state.sketches, list(state.recent), self.shares, now) if self.shares else []
        fresh = state.sketches.arrived != state.told.sketches.arrived
        letter = state.told.news(state.ahead if fresh else None, state.untold, names)
        state.ahead, state.untold = None, Log()  # what was told holds all events now
        if letter is not None:
            tree = moment.topology
            yield Post(tree.parents[state.node] if isinstance(tree, Tree) else COORDINATOR, letter, "what changed")

    def _count(self, state: SketchingState, arriving: TickCounts) -> None:
        log = Log.of(arriving, bool(self.design.levels))
        if state.ahead is None:
            state.ahead = state.told.sketches.copy()
        state.ahead.update(log)
        if state.untold is not None:
            fits = len(state.untold) + len(log) <= MOST_ROWS
            state.untold = (Log.joined([state.untold, log]) if len(state.untold) else log) if fits else None

    def _remember(self, state: SketchingState, moment: Moment, arriving: TickCounts) -> None:
        """The names of the items of the longest range: a sketch knows none. They stay at the site."""
        if not self.shares:
            return
        oldest = (moment.epoch + 1) * self.ask.ticks - max(span for _, span in self.shares)
        last = dict(zip(arriving.names.tolist(), arriving.ticks.tolist(), strict=True))
        names = list(state.recent)
        gone = np.flatnonzero(np.array(state.recent.get_all(names), np.int64) < oldest)
        state.recent.drop_all([names[at] for at in gone.tolist()])
        state.recent.set_all(list(last), list(last.values()))
