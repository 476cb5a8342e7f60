"""Random monitors and streams for distinct-count: items that sites share, new ones all the time, bursts of them."""

from __future__ import annotations

from random import Random

from monitoring_lib.methods import Ask, Method
from monitoring_lib.protocols.distinct_count.exact import Exact
from monitoring_lib.protocols.distinct_count.options import SketchOptions
from monitoring_lib.protocols.distinct_count.question import DistinctCountParams
from monitoring_lib.summaries import Cell, Measure
from tests.laws.questions import EPOCH, Event, Maker, any_window

NAMES = ("plain", "", " ", 'it\'s "quoted"', "two\nlines", "Ünïcødé 💧", "@at", "long" * 200, "0")


def ask(rng: Random, kind: type[Method]) -> Ask:
    error = rng.choice([0.1, 0.2, 0.3])
    options = kind.Options()
    if kind is not Exact:
        sketch = rng.choice(["fm", "fm", "fm", "hll", "cpc"])
        options = SketchOptions(
            sketch=sketch,
            estimator=rng.choice(["likelihood", "likelihood", "pcsa"]) if sketch == "fm" else "likelihood",
            encoding=rng.choice(["bits", "bits", "items", "whole"]) if sketch == "fm" else "whole",
            lag=rng.choice([0, 0.1, 0.3]) * error,
            seed=rng.randrange(1 << 30),
        )
    window = any_window(rng)
    params = DistinctCountParams(error=error)
    return Ask(params, options, window, 1, Measure(), EPOCH, EPOCH, window.length, rng.choice([0.9, 0.95]))


def events(rng: Random, ask: Ask, cell: Cell) -> list[Event]:
    known = [f"{name}{rng.randrange(20)}" for name in NAMES]
    chosen = rng.sample(known, rng.randint(1, len(known)))
    chosen += [f"{cell.site}/{cell.epoch}/{number}" for number in range(rng.choice([0, 0, 3, 40, 300]))]
    return [{"item": item} for item in chosen]


MAKER = Maker("distinct-count", ask, events)
