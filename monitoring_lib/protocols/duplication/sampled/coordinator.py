"""The coordinator of the sample: adds up what it is told, raises the level, tells the sites."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Literal

import numpy as np

from monitoring_lib.answers import Answers
from monitoring_lib.codec import Names
from monitoring_lib.methods import Ask, InnerRole, Moment
from monitoring_lib.network import ALL, Delivery, Post
from monitoring_lib.protocols.duplication.levels import Levels
from monitoring_lib.protocols.duplication.question import lag_of
from monitoring_lib.protocols.duplication.rows import sample_rows
from monitoring_lib.protocols.duplication.sampled.letters import Increments, SampleLevel, Totals
from monitoring_lib.protocols.duplication.sampled.slack import Slack
from monitoring_lib.protocols.duplication.sampled.state import SampleState

Sharing = Literal["none", "all", "senders"]
"""Who is told the totals of what was sent: nobody, every site, or those who sent it."""


class SampleCoordinator(InnerRole[SampleState]):
    """The sample is the one that a single node which sees all events would draw, whatever the sites' order."""

    State = SampleState

    def __init__(self, ask: Ask, slack: Slack, sharing: Sharing) -> None:
        super().__init__(ask)
        self._slack, self._sharing, self._levels = slack, sharing, Levels.of(ask)

    def start(self, node: str) -> SampleState:
        return SampleState()

    def receive(self, state: SampleState, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        if state.period != moment.period:
            state.period, state.level, state.allotments = moment.period, 0, {}
            state.sample.clear()
            state.shown.clear()
        allotment = str(self._slack.allotment(lag_of(self.ask), moment))
        state.allotments.update(dict.fromkeys(moment.present, allotment))
        before = state.level
        for delivery in inbox:
            assert isinstance(delivery.letter, Increments)
            self._add(state, delivery.letter)
        self._fit(state)
        if state.level > before:
            yield Post(ALL, SampleLevel(state.level), "sample full")
        else:
            behind = [mail.sender for mail in inbox if _told(mail).level < state.level]
            if behind:
                yield Post(tuple(behind), SampleLevel(state.level), "level not known")
        yield from self._replies(state, moment, inbox)

    def _add(self, state: SampleState, letter: Increments) -> None:
        if letter.level > state.level:
            state.level = letter.level
            self._levels.raise_to(state.level, state.sample)
        kept = self._levels.reaching(letter.names, state.level).tolist()
        pairs = zip(letter.names, letter.increments.tolist(), kept, strict=True)
        for name, increment, stays in pairs:
            if stays:
                state.sample.add(name, increment)

    def _fit(self, state: SampleState) -> None:
        """All rises of an epoch come before any reply."""
        if len(state.sample) > self.ask.params.sample:
            state.level = self._levels.fitting(sorted(state.sample), state.level, self.ask.params.sample)
            self._levels.raise_to(state.level, state.sample)

    def _replies(self, state: SampleState, moment: Moment, inbox: Sequence[Delivery]) -> Iterable[Post]:
        if self._sharing == "all":
            names = {name for mail in inbox for name in _told(mail).names if name in state.sample}
            if names:
                yield Post(ALL, _totals(state, sorted(names)), "totals")
        elif self._sharing == "senders":
            state.shown.drop_all([pair for pair in state.shown if pair[1] not in state.sample])
            for mail in inbox:
                names = {name for name in _told(mail).names if self._worth_telling(state, moment, mail.sender, name)}
                if names:
                    letter = _totals(state, sorted(names))
                    state.shown.set_all([(mail.sender, name) for name in letter.names], letter.totals.tolist())
                    yield Post(mail.sender, letter, "totals")

    def _worth_telling(self, state: SampleState, moment: Moment, site: str, name: str) -> bool:
        """Only a total that gives the site more whole counts of slack than the one that it was told last."""
        if name not in state.sample:
            return False
        slack = self._slack.allotment(lag_of(self.ask), moment)
        return int(slack * state.sample.get(name)) > int(slack * state.shown.get((site, name)))

    def answers(self, state: SampleState, moment: Moment) -> Answers:
        slack = self._slack.together(map(Fraction, state.allotments.values()))
        return sample_rows(self.ask, moment, dict(state.sample.items()), self._levels.chance(state.level), slack)

    def certificate(self, state: SampleState, moment: Moment) -> str:
        slack = float(self._slack.together(map(Fraction, state.allotments.values())))
        one_in = 1 / self._levels.chance(state.level)
        return (
            "The hash of an item alone decides whether it is sampled, however often and wherever it is seen: one in"
            f" {one_in:,.4g} is, {len(state.sample):,} items now. Their counts lack at most {slack:.3g} of themselves;"
            " the rest of the bounds is the spread of the sample at this confidence."
        )

    def faults(self, state: SampleState) -> list[str]:
        if len(state.sample) > self.ask.params.sample:
            return [f"{len(state.sample)} items are sampled, where {self.ask.params.sample} are allowed"]
        names = sorted(state.sample)
        kept = self._levels.reaching(names, state.level).tolist()
        return [f"{name!r} is below level {state.level}" for name, stays in zip(names, kept, strict=True) if not stays]


def _told(mail: Delivery) -> Increments:
    assert isinstance(mail.letter, Increments)
    return mail.letter


def _totals(state: SampleState, names: list[str]) -> Totals:
    return Totals(Names(names), np.array(state.sample.get_all(names), np.int64))
