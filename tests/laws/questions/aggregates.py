"""Random monitors and streams for aggregates: overlapping queries of every kind, walks, jumps and gaps."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

from monitoring_lib.methods import Ask, Method
from monitoring_lib.protocols.aggregates.question import AggregatesParams
from monitoring_lib.summaries import Cell, Measure
from tests.laws.questions import EPOCH, Event, Maker

SITES = ("Zürich", "@north", "*", "@all", "a/b\n'\"", "site 7", "plain", "nobody")
REDUCTIONS = ("last", "mean", "min", "max", "sum", "count")


def objects_of(site: str) -> list[str]:
    """Each object lives at one site; node names of sites that begin with @ have a further one."""
    return [site, f"{site}/2"]


def query(rng: Random, name: str) -> dict[str, Any]:
    asked = rng.choice(["sum", "sum", "avg", "avg", "min", "max", "count"])
    drawn: dict[str, Any] = {"name": name, "ask": asked}
    some = rng.sample([name for site in SITES for name in objects_of(site)], rng.randint(1, 9))
    if rng.random() < 0.5:
        if asked == "sum" and rng.random() < 0.6:
            drawn["weights"] = {name: Decimal(rng.choice(["1", "-1", "2.5", "-0.3", "0", "7"])) for name in some}
        else:
            drawn["objects"] = some
    if rng.random() < 0.9:
        drawn["precision"] = Decimal(rng.choice(["0", "0.5", "3", "10", "10", "40", "200.25"]))
    return drawn


def ask(rng: Random, kind: type[Method]) -> Ask:
    reduction = rng.choice(REDUCTIONS)
    queries = [query(rng, f"q{number}") for number in range(rng.choice([1, 2, 5, 9]))]
    budget = rng.choice([None, None, None, 20])
    if budget is not None:
        for each in queries:
            each.pop("precision", None)
    tick = EPOCH // rng.choice([1, 6, 20, 60])
    latency = rng.choice([None, None, None, f"{2 * tick}us"]) if EPOCH // tick > 2 else None
    params = AggregatesParams.model_validate(
        {
            "latency": latency,
            "value": "count" if reduction == "count" else f"{reduction}(value)",
            "queries": queries,
            "publish": rng.choice(["epoch", "tick"]),
            "budget": budget,
        }
    )
    options: dict[str, Any] = {"filter": "recentre" if latency else rng.choice(["runs", "recentre"])}
    options["aggregate"] = rng.choice([False, False, True, ("@north", "plain")])
    if rng.random() < 0.3:
        options["costs"] = {site: Decimal(rng.choice([1, 5])) for site in SITES}
    if kind.name == "optimised" and rng.random() < 0.5:
        options["steps"] = {site: Decimal(rng.choice(["0", "0.5", "8"])) for site in SITES}
    scale = 1 if reduction == "count" else rng.choice([1, 10])
    return Ask(
        params, kind.Options(**options), scale=scale, measure=Measure.parse(params.value), epoch=EPOCH, tick=tick
    )


def events(rng: Random, ask: Ask, cell: Cell) -> list[Event]:
    found: list[Event] = []
    for name in objects_of(cell.site)[: rng.choice([1, 2])]:
        value, step = rng.randint(-300, 300), rng.choice([1, 4, 40])
        for tick in range(cell.first_tick, cell.first_tick + cell.ticks):
            value += rng.randint(-step, step)
            for _ in range(rng.choice([0, 0, 1, 1, 2])):
                found.append({"object": name, "tick": tick, "value": value + rng.randint(0, 3)})
    return found or [{"object": cell.site, "tick": cell.first_tick, "value": 7}]


MAKER = Maker("aggregates", ask, events, restless=True)
