"""Random streams for the first toy: values that now and then outgrow all before them."""

from __future__ import annotations

from random import Random

from monitoring_lib.methods import Ask, Keys, Method
from monitoring_lib.summaries import Cell, Measure
from tests.laws.questions import EPOCH, Event, Maker, growing_or_reset


def ask(rng: Random, kind: type[Method]) -> Ask:
    return Ask(Keys(), kind.Options(), growing_or_reset(rng), 1, Measure("max", "value"), EPOCH, EPOCH)


def events(rng: Random, ask: Ask, cell: Cell) -> list[Event]:
    return [{"item": "value", "value": rng.randint(1, 1 << rng.randint(1, 52))}]


MAKER = Maker("largest-value", ask, events)
