"""Random readings: several in a tick, some of them null, of objects that live at one site."""

from __future__ import annotations

from random import Random

from monitoring_lib.epochs import Window
from monitoring_lib.methods import Ask, Keys, Method
from monitoring_lib.summaries import Cell, Measure
from tests.laws.questions import EPOCH, Event, Maker

TICK = 10_000_000


def ask(rng: Random, kind: type[Method]) -> Ask:
    measure = Measure(rng.choice(["last", "mean"]), "value")
    return Ask(Keys(), kind.Options(), Window(1), rng.choice([1, 10]), measure, EPOCH, TICK, EPOCH // TICK)


def events(rng: Random, ask: Ask, cell: Cell) -> list[Event]:
    ticks = sorted(cell.first_tick + rng.randrange(cell.ticks) for _ in range(rng.randint(1, 8)))
    return [
        {"tick": tick, "item": f"{rng.randint(1, 3)}@{cell.site}", "value": rng.choice([None, rng.randint(-50, 99)])}
        for tick in ticks
    ]


MAKER = Maker("mean-reading", ask, events)
