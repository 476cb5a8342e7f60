"""Random streams of items by tick, for ranges that end inside and outside of an epoch."""

from __future__ import annotations

from random import Random

from monitoring_lib.epochs import Window
from monitoring_lib.methods import Ask, Method
from monitoring_lib.summaries import Cell, Measure
from tests.laws.questions import EPOCH, Event, Maker
from tests.laws.toys.recent_count import RecentParams
from tests.laws.toys.sketched_ranges import RangeOptions

TICK = 5_000_000


def ask(rng: Random, kind: type[Method]) -> Ask:
    window = Window(rng.choice([1, 2]))
    span = (window.length or 0) * EPOCH // TICK
    params = RecentParams(watched="x", range=rng.randint(1, span))
    return Ask(params, RangeOptions(seed=rng.getrandbits(32)), window, 1, Measure(), EPOCH, TICK, span)


def events(rng: Random, ask: Ask, cell: Cell) -> list[Event]:
    ticks = sorted(cell.first_tick + rng.randrange(cell.ticks) for _ in range(rng.choice([1, 10, 80])))
    return [{"tick": tick, "item": rng.choice("xxyz") + rng.choice(["", "", "2"])} for tick in ticks]


MAKER = Maker("recent-count", ask, events)
