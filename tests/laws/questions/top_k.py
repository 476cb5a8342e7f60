"""Random monitors and streams for top-k: skewed counts with bursts, ties, signs, and names of every kind."""

from __future__ import annotations

from decimal import Decimal
from random import Random

from monitoring_lib.methods import Ask, Method
from monitoring_lib.protocols.topk.question import TopKParams
from monitoring_lib.summaries import Cell, Measure
from tests.laws.questions import EPOCH, Event, Maker, any_window

ITEMS = (
    "plain", "", " ", 'it\'s "quoted"', "two\nlines", "Ünïcødé 💧", "@at", "*", "long" * 200, "0", "-1", "b", "c",
)  # fmt: skip


def ask(rng: Random, kind: type[Method]) -> Ask:
    tolerance = Decimal(rng.choice(["0", "0", "1", "7.5", "30", "200"]))
    params = TopKParams(
        k=rng.choice([1, 2, 3, 5, 20]),
        tolerance=tolerance,
        order=rng.choice(["largest", "largest", "smallest"]),
        signed=rng.random() < 0.4,
        totals=rng.choice([None, Decimal(0), Decimal("0.05")]) if tolerance == 0 else None,  # else quiet epochs poll
    )
    window, scale = any_window(rng), rng.choice([1, 1, 100])
    return Ask(params, kind.Options(), window, scale, Measure("sum", "value"), EPOCH, EPOCH, window.length)


def events(rng: Random, ask: Ask, cell: Cell) -> list[Event]:
    items = ITEMS[: rng.choice([2, 5, len(ITEMS)])]
    if ask.params.order == "smallest":  # an item lives at one site
        items = tuple(f"{item}|{cell.site}" for item in items)
    largest = ask.scale * rng.choice([1, 3, 20, 300])
    pairs = {item: rng.randint(1, max(1, largest // (rank + 1))) for rank, item in enumerate(items)}
    if ask.params.signed:
        pairs = {item: value * rng.choice([1, 1, -1]) for item, value in pairs.items()}
    chosen = rng.sample(sorted(pairs), rng.randint(1, len(pairs)))
    return [{"item": item, "value": pairs[item]} for item in chosen]


MAKER = Maker("top-k", ask, events)
