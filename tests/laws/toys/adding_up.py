"""The method of the readings: sites add up those of each tick, the coordinator those of the sites."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from monitoring_lib.answers import Answers
from monitoring_lib.codec import Image
from monitoring_lib.methods import Moment
from monitoring_lib.network import COORDINATOR, Delivery, Letter, Post
from tests.laws.toys.mean_reading import MeanReading, ReadingsOfTicks, end_of
from tests.laws.toys.plain import PlainInner, PlainMethod, PlainSite


@dataclass(slots=True)
class Sums(Letter, tag=1, version=1):
    """By tick: the sum of the readings and how many they are."""

    ticks: list[int]
    sums: list[int]
    counts: list[int]

    @property
    def entries(self) -> int:
        return len(self.ticks)


@dataclass(slots=True)
class NoState(Image, tag=2, version=1):
    """A site needs none."""


@dataclass(slots=True)
class Series(Image, tag=3, version=1):
    epoch: int = -1
    sums: dict[int, int] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)


class Adding(PlainSite[NoState]):
    State = NoState

    def observe(self, state: NoState, moment: Moment, arriving: ReadingsOfTicks, expiring: Any) -> Iterable[Post]:
        ticks, firsts, counts = np.unique(arriving.ticks, return_index=True, return_counts=True)
        sums = np.add.reduceat(arriving.values, firsts) if len(ticks) else ticks
        return [Post(COORDINATOR, Sums(ticks.tolist(), sums.tolist(), counts.tolist()))] if len(ticks) else []


class Collecting(PlainInner[Series]):
    State = Series

    def receive(self, state: Series, moment: Moment, round_: int, inbox: Sequence[Delivery]) -> Iterable[Post]:
        if state.epoch != moment.epoch and (inbox or state.sums):
            state.epoch, state.sums, state.counts = moment.epoch, {}, {}
        for letter in (delivery.letter for delivery in inbox):
            assert isinstance(letter, Sums)
            for tick, added, count in zip(letter.ticks, letter.sums, letter.counts, strict=True):
                state.sums[tick] = state.sums.get(tick, 0) + added
                state.counts[tick] = state.counts.get(tick, 0) + count
        return ()

    def answers(self, state: Series, moment: Moment) -> Answers:
        ticks = sorted(state.sums) if state.epoch == moment.epoch else []
        means = [state.sums[tick] / (state.counts[tick] * self.ask.scale) for tick in ticks]
        columns = {"node": COORDINATOR, "tick": [end_of(self.ask, moment, tick) for tick in ticks], "key": ""}
        return Answers.columns(len(ticks), {**columns, "rank": None, "estimate": means, "low": means, "high": means})


class AddingUp(PlainMethod):
    """Sites add up the readings of each tick, the coordinator those of the sites."""

    name, question, letters, roles = "adding-up", MeanReading(), (Sums,), (Adding, Collecting)
    needs_expiring = False


METHODS = (AddingUp,)
