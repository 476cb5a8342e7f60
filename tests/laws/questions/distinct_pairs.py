"""Random streams for pairs: texts that would collide if they were only joined."""

from __future__ import annotations

from random import Random

from monitoring_lib.epochs import Window
from monitoring_lib.methods import Ask, Keys, Method
from monitoring_lib.summaries import Cell, Measure
from tests.laws.questions import EPOCH, Event, Maker, growing_or_reset, sliding

TEXTS = ("", "a", "aa", "a,a", "b", "é", "@all")


def ask(rng: Random, kind: type[Method]) -> Ask:
    window = rng.choice([growing_or_reset(rng), Window(reset=4), sliding(rng)])
    return Ask(Keys(), kind.Options(), window, 1, Measure(), EPOCH, EPOCH, window.length)


def events(rng: Random, ask: Ask, cell: Cell) -> list[Event]:
    return [{"item": rng.choice(TEXTS), "by": rng.choice(TEXTS)} for _ in range(rng.randint(1, 9))]


MAKER = Maker("distinct-pairs", ask, events)
