"""Random monitors and streams for recent-counts: all kinds of queries, counters, trees and rhythms."""

from __future__ import annotations

from random import Random
from typing import Any

from monitoring_lib.epochs import Window
from monitoring_lib.methods import Ask, Method
from monitoring_lib.protocols.recent_counts.merged import Merged
from monitoring_lib.protocols.recent_counts.queries import RecentCountsParams
from monitoring_lib.summaries import Cell, Measure
from tests.laws.questions import EPOCH, Event, Maker

TICK = EPOCH // 4
BITS = 6
TEXTS = ("plain", "", 'it\'s "quoted"', "two\nlines", "Ünïcødé 💧", "@at", "b", "long" * 50, "0", "-1", "007")


def ask(rng: Random, kind: type[Method]) -> Ask:
    span = rng.choice([3, 4, 6, 8, 12])
    window = Window(-(-span // 4))
    bits = rng.choice([None, BITS])
    options: Any = kind.Options()
    queries: list[dict[str, Any]] = [
        {"name": "one", "point": "0"},
        {"name": "top", "heavy_hitters": rng.choice([0.1, 0.3, 0.6])},
        {"name": "top too", "heavy_hitters": 0.2},
    ]
    if bits:
        first = rng.randrange(1 << BITS)
        queries += [
            {"name": "low ones", "between": [first, rng.randrange(first, 1 << BITS)]},
            {"name": "middle", "quantiles": [rng.choice([0.1, 0.5]), 0.9, 1.0]},
        ]
    error = rng.choice([0.2, 0.4])
    if kind is Merged:
        counter = rng.choice(["eh", "eh", "dw", "rw"])
        error = 0.5 if counter == "rw" else error
        options = Merged.Options(
            counter=counter, levels=rng.choice([1, 1, 2, 3]), every=rng.choice([1, 1, 2, 3]), seed=rng.getrandbits(32)
        )
    if getattr(options, "counter", "") != "rw":
        queries.append({"name": "skew", "self_join": True})
    drawn = rng.sample(queries, min(rng.randint(1, 4), len(queries)))
    chosen = [{**query, "range": f"{rng.randint(1, span) * TICK}us"} for query in drawn]
    if bits and not any("between" in query or "quantiles" in query for query in chosen):
        bits = None
    params = RecentCountsParams(error=error, queries=chosen, bits=bits)
    return Ask(params, options, window, 1, Measure(), EPOCH, TICK, span, rng.choice([0.8, 0.95]))


def events(rng: Random, ask: Ask, cell: Cell) -> list[Event]:
    ticks = sorted(cell.first_tick + rng.randrange(cell.ticks) for _ in range(rng.choice([1, 10, 80])))
    if ask.params.bits is None:
        return [{"tick": tick, "item": rng.choice(TEXTS[: rng.choice([1, 3, len(TEXTS)])])} for tick in ticks]
    widest = rng.choice([2, 10, 1 << BITS, (1 << BITS) + 9])
    return [{"tick": tick, "item": str(rng.randrange(widest))} for tick in ticks]


MAKER = Maker("recent-counts", ask, events)
