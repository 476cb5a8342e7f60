"""A site of the sample: counts the items that reach the level and tells what has outgrown its slack."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa

from monitoring_lib.codec import Names
from monitoring_lib.methods import Ask, Moment, SiteRole
from monitoring_lib.network import COORDINATOR, Delivery, Post
from monitoring_lib.protocols.duplication.levels import Levels
from monitoring_lib.protocols.duplication.question import lag_of
from monitoring_lib.protocols.duplication.sampled.letters import Increments, SampleLevel, Totals
from monitoring_lib.protocols.duplication.sampled.slack import Slack
from monitoring_lib.protocols.duplication.sampled.state import SamplingSiteState
from monitoring_lib.synopses.counts import Counts


class SamplingSite(SiteRole[SamplingSiteState]):
    """``C - C' <= allotment * base`` for every item of the sample once it has observed, in whole numbers."""

    State = SamplingSiteState

    def __init__(self, ask: Ask, slack: Slack) -> None:
        super().__init__(ask)
        self._slack, self._lag, self._levels = slack, lag_of(ask), Levels.of(ask)

    def start(self, node: str) -> SamplingSiteState:
        return SamplingSiteState(node)

    def observe(self, state: SamplingSiteState, moment: Moment, arriving: Counts, expiring: Counts) -> Iterable[Post]:
        if state.period != moment.period:
            state.period, state.level = moment.period, 0
            for tally in (state.counts, state.told, state.totals):
                tally.clear()
        touched = self._take_in(state, arriving)
        rose = self._fit(state)
        allotment = self._slack.allotment(self._lag, moment)
        if state.allotment != str(allotment):  # with less slack, counts may have to be told that did not change
            state.allotment, touched = str(allotment), sorted(state.counts)
        elif rose:
            touched = [name for name in touched if name in state.counts]
        names, increments = self._outgrown(state, touched, allotment)
        if names or rose:
            reason = "level and counts" if rose else "counts"
            yield Post(COORDINATOR, Increments(state.level, Names(names), np.array(increments, np.int64)), reason)

    def receive(
        self, state: SamplingSiteState, moment: Moment, round_: int, inbox: Sequence[Delivery]
    ) -> Iterable[Post]:
        for delivery in inbox:
            letter = delivery.letter
            if isinstance(letter, SampleLevel):
                self._rise(state, letter.level)
            else:
                assert isinstance(letter, Totals)
                self._hear(state, letter)
        return ()

    def _take_in(self, state: SamplingSiteState, arriving: Counts) -> list[str]:
        """Adds what happened to the items that reach the level; those items."""
        kept = self._levels.reaching(arriving.names, state.level) if len(arriving) else np.zeros(0, np.bool_)
        if not kept.any():
            return []
        names: list[str] = arriving.names.column.filter(pa.array(kept)).to_pylist()
        state.counts.add_all(names, arriving.sums[kept].tolist())
        return names

    def _fit(self, state: SamplingSiteState) -> bool:
        """A site alone with more items than the sample holds knows that the level must rise; whether it did."""
        capacity = self.ask.params.sample
        if len(state.counts) <= capacity:
            return False
        self._rise(state, self._levels.fitting(sorted(state.counts), state.level, capacity))
        return True

    def _rise(self, state: SamplingSiteState, level: int) -> None:
        if level > state.level:
            state.level = level
            self._levels.raise_to(level, state.counts, state.told)
            self._levels.raise_to(level, state.totals)

    def _outgrown(self, state: SamplingSiteState, touched: list[str], slack: Fraction) -> tuple[list[str], list[int]]:
        """The items whose count has run ahead too far, with what is to be told of them; it counts as told."""
        counts, told = state.counts.get_all(touched), state.told.get_all(touched)
        bases = state.totals.get_all(touched) if self._slack.shared else told
        names, increments, news = [], [], []
        for name, count, before, base in zip(touched, counts, told, bases, strict=True):
            if (count - before) * slack.denominator > slack.numerator * base:
                names.append(name)
                increments.append(count - before)
                news.append(count)
        state.told.set_all(names, news)
        return names, increments

    def _hear(self, state: SamplingSiteState, letter: Totals) -> None:
        kept = self._levels.reaching(letter.names, state.level).tolist()
        pairs = zip(letter.names, letter.totals.tolist(), kept, strict=True)
        heard = [(name, total) for name, total, stays in pairs if stays]
        state.totals.set_all([name for name, _ in heard], [total for _, total in heard])

    def faults(self, state: SamplingSiteState) -> list[str]:
        if len(state.counts) > self.ask.params.sample:
            return [f"{len(state.counts)} items are sampled, where {self.ask.params.sample} are allowed"]
        return [
            f"{name!r} was told beyond its count" for name, told in state.told.items() if told > state.counts.get(name)
        ]
