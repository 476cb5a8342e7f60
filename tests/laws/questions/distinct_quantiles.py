"""Random monitors and streams for distinct quantiles: numbers with and without partners, and what is no number."""

from __future__ import annotations

from decimal import Decimal
from random import Random

from monitoring_lib.methods import Ask, Method
from monitoring_lib.protocols.distinct_pairs.quantile_question import QuantilesParams
from monitoring_lib.summaries import Cell, Measure
from tests.laws.questions import EPOCH, Event, Maker, growing_or_reset

ODD = ("", "x", "-1", "1.5", "007", " 9 ", "12.0", "1e3", "99999999999999999999999")


def ask(rng: Random, kind: type[Method]) -> Ask:
    params = QuantilesParams(
        bits=rng.choice([1, 8, 16, 32]),
        quantiles=tuple(rng.sample([0.0, 0.1, 0.25, 0.5, 0.9, 0.99, 1.0], rng.randint(1, 4))),
        error=Decimal(rng.choice(["0.05", "0.1", "0.02"])),
    )
    options, paired = kind.Options(seed=rng.randrange(1000)), rng.random() < 0.5
    confidence = rng.choice([0.9, 0.95])
    return Ask(
        params, options, growing_or_reset(rng), 1, Measure(), EPOCH, EPOCH, confidence=confidence, paired=paired
    )  # fmt: skip


def events(rng: Random, ask: Ask, cell: Cell) -> list[Event]:
    most = 1 << ask.params.bits
    middle = rng.randrange(most)
    near = [(middle + int(rng.paretovariate(0.5))) % most for _ in range(rng.choice([1, 10, 80]))]
    items = [*map(str, near), *(str(rng.randrange(2 * most)) for _ in range(3)), *rng.sample(ODD, 2)]
    return [{"item": item, "by": f"partner {rng.randrange(5)}"} for item in items]


MAKER = Maker("distinct-quantiles", ask, events)
