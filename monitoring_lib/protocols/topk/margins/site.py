"""Margins, at a site: tells a sum once it passes the site's threshold, then whenever it leaves its width."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from monitoring_lib.methods import Ask, Moment, SiteRole
from monitoring_lib.names import Names
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.topk.letters import Poll, Polled, SiteSums
from monitoring_lib.protocols.topk.margins.letters import Enquiry, FirstValues, ItemWidths, Lower, Raise
from monitoring_lib.protocols.topk.margins.state import MarginsSiteState
from monitoring_lib.protocols.topk.margins.widths import least_width, one_sided
from monitoring_lib.protocols.topk.ranking import Ranking
from monitoring_lib.protocols.topk.sums import absorb, keeps_zeros
from monitoring_lib.synopses.counts import Counts


class MarginsSite(SiteRole[MarginsSiteState]):
    """Silence means: untracked sums lie within the threshold of 0, tracked ones within their width of the told."""

    State = MarginsSiteState

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self._tracks_all = keeps_zeros(ask)
        self._one_sided = one_sided(ask)

    def start(self, node: str) -> MarginsSiteState:
        return MarginsSiteState(node)

    def observe(self, state: MarginsSiteState, moment: Moment, arriving: Counts, expiring: Counts) -> Iterable[Post]:
        if state.period != moment.period:
            state.period, state.begun, state.threshold = moment.period, False, 0
            for tally in (state.sums, state.copies, state.widths):
                tally.clear()
        touched = absorb(self.ask, state.node, state.sums, arriving, expiring)
        floor, before = least_width(self.ask, len(moment.sites)), state.floor
        state.floor = floor
        if not state.begun and self.ask.options.untracked > 0 and not self._tracks_all:
            yield from self._begin(state)
            return
        state.begun = True
        names = {*touched, *state.sums, *state.copies} if floor < before else touched
        drifted = sorted(name for name in self._suspects(state, names) if self._must_tell(state, name))
        if drifted:
            yield Post(COORDINATOR, self._tell(state, drifted), "drifted")

    def _begin(self, state: MarginsSiteState) -> Iterable[Post]:
        """Tells the 2k sums furthest from 0; the largest of the rest is the threshold."""
        state.begun = True
        found = Ranking(state.sums).furthest(2 * self.ask.params.k + 1)
        state.threshold = abs(found[-1][1]) if len(found) > 2 * self.ask.params.k else 0
        told = sorted(name for name, value in found[: 2 * self.ask.params.k] if abs(value) > state.floor)
        if not told:  # then the coordinator hears nothing, and takes the floor for the threshold
            state.threshold = 0
            return
        values = self._tell(state, told)
        yield Post(COORDINATOR, FirstValues(values.names, values.values, state.threshold), "first epoch")

    def _suspects(self, state: MarginsSiteState, names: Collection[str]) -> Iterable[str]:
        """Without those, by far the most, that are untracked and within the threshold."""
        if self._tracks_all:
            return names
        limit = max(state.threshold, state.floor)
        copied = names.among(state.copies.keys()) if isinstance(names, Names) else state.copies.keys() & names
        return {*state.sums.beyond(names, limit), *copied}

    def _must_tell(self, state: MarginsSiteState, name: str) -> bool:
        value = state.sums.get(name)
        if name not in state.copies:
            return self._tracks_all or abs(value) > max(state.threshold, state.floor)
        gap = value - state.copies.get(name)
        width = max(state.widths.get(name), state.floor)
        return bool(gap > width or -gap > (0 if self._one_sided else width))

    def _tell(self, state: MarginsSiteState, names: list[str]) -> SiteSums:
        values = [state.sums.get(name) for name in names]
        for name, value in zip(names, values, strict=True):
            if value == 0 and not self._tracks_all and state.threshold <= state.floor and name not in state.widths:
                state.copies.drop(name)  # untracked, it is held as closely
            else:
                state.copies.set(name, value)
        return SiteSums(names, values)

    def receive(
        self, state: MarginsSiteState, moment: Moment, round_: int, inbox: Sequence[Delivery]
    ) -> Iterable[Post]:
        for delivery in inbox:
            letter = delivery.letter
            if isinstance(letter, Enquiry):
                yield Post(COORDINATOR, self._answer(state, letter.names), "asked")
            elif isinstance(letter, Poll):
                for name in letter.names:
                    state.widths.drop(name)
                yield Post(COORDINATOR, Polled(self._tell(state, letter.names).values), "polled")
            elif isinstance(letter, Lower):
                yield Post(COORDINATOR, self._lower(state, letter.threshold), "threshold lowered")
            elif isinstance(letter, Raise):
                self._raise(state, letter)
            else:
                assert isinstance(letter, ItemWidths)
                for name, width in zip(letter.names, letter.widths, strict=True):
                    state.widths.set(name, width)

    def _answer(self, state: MarginsSiteState, names: list[str]) -> SiteSums:
        """The sums that the coordinator's copies miss by more than the floor; all are tracked from now on."""
        self._track(state, names)
        return self._tell(state, [name for name in names if self._must_tell(state, name)])

    def _track(self, state: MarginsSiteState, names: list[str]) -> None:
        """From now on these items are held as closely as any."""
        for name in names:
            state.widths.drop(name)
            if name not in state.copies:
                state.copies.set(name, 0)

    def _lower(self, state: MarginsSiteState, threshold: int) -> SiteSums:
        state.threshold = threshold
        found = Ranking(state.sums).beyond(max(threshold, state.floor))
        return self._tell(state, [name for name, _ in found if name not in state.copies])

    def _raise(self, state: MarginsSiteState, letter: Raise) -> None:
        state.threshold = letter.threshold
        kept = set(letter.kept)
        for name, copy in list(state.copies.items()):
            width = max(state.widths.get(name), state.floor)
            if abs(copy) + width <= letter.threshold and name not in kept:
                state.copies.drop(name)
                state.widths.drop(name)
