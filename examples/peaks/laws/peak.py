"""Random monitors and values for the laws."""

from __future__ import annotations

from decimal import Decimal
from random import Random

from farwatch_peaks.question import PeakParams
from monitoring_lib.methods import Ask, Method
from monitoring_lib.summaries import Cell, Measure
from tests.laws.questions import EPOCH, Event, Maker, any_window


def ask(rng: Random, kind: type[Method]) -> Ask:
    window, params = any_window(rng), PeakParams(slack=Decimal(rng.choice(["0", "2.5", "40"])))
    scale, measure = rng.choice([1, 10]), Measure("max", "value")
    return Ask(params, kind.Options(), window, scale, measure, EPOCH, EPOCH, window.length)


def events(rng: Random, ask: Ask, cell: Cell) -> list[Event]:
    return [{"site": cell.site, "value": rng.choice([None, rng.randint(-99, 99)])} for _ in range(rng.randint(1, 4))]


MAKER = Maker("peak", ask, events, restless=True)
