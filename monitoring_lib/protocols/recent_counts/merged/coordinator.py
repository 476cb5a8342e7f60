"""Merged sketches, at the coordinator: merges the last level, and answers from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from monitoring_lib.answers import Answers
from monitoring_lib.codec import Image
from monitoring_lib.methods import Ask, InnerRole, LookUp, Moment
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.recent_counts.asking import look_up
from monitoring_lib.protocols.recent_counts.merged.design import Design
from monitoring_lib.protocols.recent_counts.merged.letters import ToldSketches
from monitoring_lib.protocols.recent_counts.merged.node import all_names, left, taken_in, together
from monitoring_lib.protocols.recent_counts.merged.rhythm import merges
from monitoring_lib.protocols.recent_counts.merged.sketches import Sketches
from monitoring_lib.protocols.recent_counts.merged.view import MergedView
from monitoring_lib.protocols.recent_counts.queries import Query
from monitoring_lib.protocols.recent_counts.rows import answers_of
from monitoring_lib.topology import Tree
from monitoring_lib.unstored import Unstored


@dataclass(slots=True)
class RootState(Image, tag=22, version=1):
    """The last word of every child, and who was away when: both grow and shrink with the membership alone."""

    children: dict[str, ToldSketches] = field(default_factory=dict)
    first: int = -1
    """The epoch of the first merge."""
    early: int = -1
    """The last epoch with a merge that was not due yet."""
    owed: bool = False
    known: list[str] = field(default_factory=list)
    """The sites of the epoch before."""
    away: dict[str, int] = field(default_factory=dict)
    """Sites that are missing, and the first epoch that each missed; -1 for one that never took part."""
    untold: list[str] = field(default_factory=list)
    """Those of them that took in something after the last merge they were part of."""
    owed_then: bool = False
    away_then: dict[str, int] = field(default_factory=dict)
    untold_then: list[str] = field(default_factory=list)
    """The same at the last merge."""


class RecentView(MergedView):
    """A view that knows which sites were away when the sketches were merged.

    The last sketch of a site that is away stays valid, because its counters expire by time alone. What it took in
    since then is unknown, and so are the names of the items that became heavy as its older events left the range.
    """

    def __init__(self, state: RootState, sketches: Sketches, ask: Ask, end: int) -> None:
        super().__init__(sketches, all_names(state.children), ask.params.bits, end - 1)
        self._untold = [state.away_then[site] * ask.ticks for site in state.untold_then]
        self._away = [epoch * ask.ticks for epoch in state.away_then.values() if epoch >= 0]
        self._end, self._ask = end, ask

    def cannot(self, query: Query, span: int) -> str | None:
        if query.is_of_numbers and not self.sketches.levels:
            return (
                "the stored sketches have no levels of numbers; let a query of the monitor ask `between` or `quantiles`"
            )
        if query.kind in ("self_join", "heavy_hitters") and self.sketches.flat is None:
            return "the stored sketches count blocks of numbers only; let a query of the monitor ask a `point`"
        if query.self_join and self.sketches.randomised:
            return "randomised waves promise nothing for a self-join; take `counter: eh` or `dw`"
        if query.heavy_hitters is None:
            return None
        named = [other for other in self._ask.params.of_kind("heavy_hitters") if other.ticks(self._ask) == span]
        if any(other.heavy_hitters <= query.heavy_hitters for other in named):
            return None
        known = ", ".join(f"{q.heavy_hitters} over {q.range}" for q in self._ask.params.of_kind("heavy_hitters"))
        return f"sites name only items above the shares and over the ranges of the monitor's file: {known or 'none'}"

    def lacks(self, span: int) -> bool:
        return any(missed > self._end - span for missed in self._untold)

    def lacks_names(self, span: int) -> bool:
        return any(missed > self._end - span for missed in self._away)


class MergingCoordinator(InnerRole[RootState]):
    """Answers are those of the last merge, named by its tick."""

    State = RootState

    def __init__(self, ask: Ask, design: Design) -> None:
        super().__init__(ask)
        self.design = design
        self._merged: Unstored[Sketches] = Unstored()

    def start(self, node: str) -> RootState:
        return RootState()

    def receive(self, state: RootState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        changed = taken_in(self.design, state.children, inbox)
        if round_ == moment.topology.depth:
            changed = self._take_note(state, moment) or changed
        if changed:
            self._merged.drop(state)
        return ()

    def _take_note(self, state: RootState, moment: Moment) -> bool:
        """Who is away, and whether this epoch ends with a merge; whether a child was forgotten."""
        every = self.ask.options.every
        merging = merges(moment, every, state.owed)
        state.owed = moment.owed
        self._note_missing(state, moment)
        if not merging:
            return False
        if moment.epoch % every:
            state.early = moment.epoch
        if state.first < 0:
            state.first = moment.epoch
        state.owed_then, state.away_then, state.untold_then = moment.owed, dict(state.away), list(state.untold)
        tree = moment.topology
        return left(state.children, tree.children(COORDINATOR) if isinstance(tree, Tree) else moment.sites)

    def _note_missing(self, state: RootState, moment: Moment) -> None:
        last = self.last_merge(state, moment.epoch - 1)
        for site in sorted(moment.missing - state.away.keys()):
            took_part = site in state.known
            state.away[site] = moment.epoch if took_part else -1
            if took_part and last < moment.epoch - 1:
                state.untold.append(site)
        state.away = {site: state.away[site] for site in sorted(state.away) if site in moment.missing}
        state.untold = sorted(site for site in state.untold if site in state.away)
        state.known = sorted(moment.sites)

    def last_merge(self, state: RootState, epoch: int) -> int:
        """The epoch of the last merge, seen from the end of this one."""
        every: int = self.ask.options.every
        return max(state.first, state.early, epoch - epoch % every)

    def answers(self, state: RootState, moment: Moment) -> Answers:
        if state.first < 0:
            return Answers.of()
        view, tick = self._view(state, moment)
        answers = answers_of(self.ask, view, COORDINATOR, tick, state.owed_then)
        self._merged.settle(state, moment.epoch)
        return answers

    def certificate(self, state: RootState, moment: Moment) -> str:
        when = moment.ago(self.last_merge(state, moment.epoch))
        return (
            f"The sketches of {len(state.children):,} children were merged {when}. A counter's"
            " error is bounded for every range of the window, a merge adds a bounded part to it, and items that share a"
            " cell only raise a count."
        )

    def look_up(self, state: RootState, moment: Moment, asked: LookUp) -> Answers:
        if state.first < 0:
            return Answers.of()
        view, tick = self._view(state, moment)
        return look_up(self.ask, view, COORDINATOR, tick, asked, state.owed_then or moment.owed)

    def _view(self, state: RootState, moment: Moment) -> tuple[RecentView, int]:
        """What the last merge says, and the moment that it holds for."""
        sketches = self._merged.up_to(state, moment.epoch) or together(self.design, COORDINATOR, state.children)
        self._merged.put(state, moment.epoch, sketches)
        last = self.last_merge(state, moment.epoch)
        view = RecentView(state, sketches, self.ask, (last + 1) * self.ask.ticks)
        return view, moment.end - (moment.epoch - last) * self.ask.epoch
