"""Random monitors and streams for distinct heavy hitters: a few items with many partners, many with few."""

from __future__ import annotations

from decimal import Decimal
from random import Random

from monitoring_lib.methods import Ask, Method
from monitoring_lib.protocols.distinct_pairs.heavy_question import HeavyHittersParams
from monitoring_lib.summaries import Cell, Measure
from tests.laws.questions import EPOCH, Event, Maker, growing_or_reset

ITEMS = ("", "plain", 'it\'s "quoted"', "two\nlines", "Ünïcødé 💧", "@at", "long" * 200, "0", "b", "c")


def ask(rng: Random, kind: type[Method]) -> Ask:
    share, error = rng.choice([("0.1", "0.02"), ("0.05", "0.02"), ("0.3", "0.1"), ("0.01", "0.005")])
    params = HeavyHittersParams(share=Decimal(share), error=Decimal(error))
    options = kind.Options(seed=rng.randrange(1000))
    confidence = rng.choice([0.9, 0.95])
    return Ask(
        params, options, growing_or_reset(rng), 1, Measure(), EPOCH, EPOCH, confidence=confidence, paired=True
    )  # fmt: skip


def events(rng: Random, ask: Ask, cell: Cell) -> list[Event]:
    found = []
    for item in [*rng.sample(ITEMS, rng.randint(1, len(ITEMS))), *(str(rng.randrange(400)) for _ in range(9))]:
        most = rng.choice([1, 1, 2, 40])
        found += [{"item": item, "by": f"partner {rng.randrange(3 * most)} é"} for _ in range(rng.randint(1, most))]
    return found


MAKER = Maker("distinct-heavy-hitters", ask, events)
