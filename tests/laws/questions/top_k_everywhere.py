"""Random monitors and streams for top-k-everywhere: few items with ties, so that ranks change often."""

from __future__ import annotations

from random import Random

from monitoring_lib.methods import Ask, Method
from monitoring_lib.protocols.top_k_everywhere.question import TopKEverywhereParams
from monitoring_lib.protocols.top_k_everywhere.topico import Topico
from monitoring_lib.summaries import Cell, Measure
from tests.laws.questions import EPOCH, Event, Maker, any_window

ITEMS = ("plain", "", 'it\'s "quoted"', "two\nlines", "Ünïcødé 💧", "@at", "b", "c", "long" * 200, "0", "-1", "zz")


def ask(rng: Random, kind: type[Method]) -> Ask:
    options = kind.Options()
    if kind is Topico:
        options = Topico.Options(
            rounds=rng.choice([1, 2, 3, 3, 5]), early_stop=rng.random() < 0.7, changes_only=rng.random() < 0.7
        )
    window = any_window(rng)
    params = TopKEverywhereParams(k=rng.choice([1, 2, 3, 8]))
    return Ask(params, options, window, rng.choice([1, 1, 100]), Measure("sum", "value"), EPOCH, EPOCH, window.length)


def events(rng: Random, ask: Ask, cell: Cell) -> list[Event]:
    items = ITEMS[: rng.choice([2, 5, len(ITEMS)])]
    largest = rng.choice([1, 3, 20, 300])
    chosen = rng.sample(items, rng.randint(1, len(items)))
    return [{"item": item, "value": rng.randint(1, largest)} for item in chosen]


MAKER = Maker("top-k-everywhere", ask, events)
