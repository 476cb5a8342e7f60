"""Random streams of items that come back at other sites, for sketches of every seed."""

from __future__ import annotations

from random import Random

from monitoring_lib.epochs import Window
from monitoring_lib.methods import Ask, Keys, Method
from monitoring_lib.summaries import Cell, Measure
from tests.laws.questions import EPOCH, Event, Maker, growing_or_reset


def ask(rng: Random, kind: type[Method]) -> Ask:
    drawn, window = {"bitmaps": rng.choice([16, 64]), "seed": rng.getrandbits(32)}, growing_or_reset(rng)
    window = rng.choice([window, Window(reset=4)])
    options = kind.Options(**{name: value for name, value in drawn.items() if name in kind.Options.model_fields})
    return Ask(Keys(), options, window, 1, Measure(), EPOCH, EPOCH, window.length, rng.choice([0.7, 0.9]))


def events(rng: Random, ask: Ask, cell: Cell) -> list[Event]:
    return [{"item": f"{rng.randint(0, 900)} é"} for _ in range(rng.choice([1, 8, 60]))]


MAKER = Maker("distinct-items", ask, events)
