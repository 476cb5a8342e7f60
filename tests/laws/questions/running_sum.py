"""Random streams for the second toy: sums, of either sign, at a few ticks of the epoch."""

from __future__ import annotations

from random import Random

from monitoring_lib.methods import Ask, Keys, Method
from monitoring_lib.summaries import Cell, Measure
from tests.laws.questions import EPOCH, Event, Maker, any_window

TICK = 1_000_000


def ask(rng: Random, kind: type[Method]) -> Ask:
    window = any_window(rng)
    span = None if window.length is None else window.length * EPOCH // TICK
    return Ask(Keys(), kind.Options(), window, 1, Measure("sum", "value"), EPOCH, TICK, span)


def events(rng: Random, ask: Ask, cell: Cell) -> list[Event]:
    ticks = sorted(cell.first_tick + rng.randrange(cell.ticks) for _ in range(rng.randint(1, 5)))
    return [{"tick": tick, "value": rng.randint(-9, 99)} for tick in ticks]


MAKER = Maker("running-sum", ask, events)
