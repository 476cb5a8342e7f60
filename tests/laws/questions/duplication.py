"""Random monitors and streams for duplication: small samples that overflow now and then, skewed counts."""

from __future__ import annotations

from decimal import Decimal
from random import Random

from monitoring_lib.methods import Ask, Method
from monitoring_lib.protocols.duplication.question import Asked, DuplicationParams
from monitoring_lib.summaries import Cell, Measure
from tests.laws.questions import EPOCH, Event, Maker, growing_or_reset

ODD = ("", " ", 'it\'s "quoted"', "two\nlines", "Ünïcødé 💧", "@at", "long" * 200)


def ask(rng: Random, kind: type[Method]) -> Ask:
    asked = Asked(
        distinct=True,
        once=rng.random() < 0.8,
        quantiles=tuple(rng.sample([0.01, 0.1, 0.5, 0.9, 0.99, 1.0], rng.randint(0, 3))),
        shares=dict(rng.sample([("short", "length(item) < 4"), ("none", "item = ''"), ("1", "number(item) > 7")], 2)),
    )
    params = DuplicationParams(
        sample=rng.choice([20, 31, 100]), lag=Decimal(rng.choice(["0", "0.1", "0.75"])), ask=asked
    )
    options = kind.Options(seed=rng.randrange(1000))
    return Ask(params, options, growing_or_reset(rng), 1, Measure(), EPOCH, EPOCH, confidence=rng.choice([0.9, 0.95]))


def events(rng: Random, ask: Ask, cell: Cell) -> list[Event]:
    most = rng.choice([1, 6, 60])
    found = [str(int(rng.paretovariate(0.4)) % 500) for _ in range(rng.randint(1, most))]
    return [{"item": item} for item in [*found, *rng.sample(ODD, rng.randint(0, 2))] * rng.choice([1, 1, 3])]


MAKER = Maker("duplication", ask, events)
