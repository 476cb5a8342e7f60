"""Random streams for the tree that grows: few events, so that whole branches are silent."""

from __future__ import annotations

from random import Random

from monitoring_lib.epochs import Window
from monitoring_lib.methods import Ask, Keys, Method
from monitoring_lib.summaries import Cell, Measure
from tests.laws.questions import EPOCH, Event, Maker, growing_or_reset, sliding


def ask(rng: Random, kind: type[Method]) -> Ask:
    window = rng.choice([growing_or_reset(rng), Window(reset=4), sliding(rng)])
    return Ask(Keys(), kind.Options(), window, 1, Measure(), EPOCH, EPOCH, window.length)


def events(rng: Random, ask: Ask, cell: Cell) -> list[Event]:
    return [{"item": "any"}] * rng.randint(1, 5)


MAKER = Maker("event-total", ask, events)
