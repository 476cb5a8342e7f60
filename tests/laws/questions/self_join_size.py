"""Random monitors and streams for self-join-size: exact and sketched, windows shorter and longer than an epoch."""

from __future__ import annotations

from random import Random

from monitoring_lib.epochs import Window
from monitoring_lib.methods import Ask, Method
from monitoring_lib.protocols.geometric.self_join.question import SelfJoinParams
from monitoring_lib.summaries import Cell
from tests.laws.questions import EPOCH, Event, Maker

TICK = 10_000_000
ITEMS = ("plain", "", 'it\'s "quoted"', "two\nlines", "Ünïcødé 💧", "@at", "b", "c", "long" * 200, "0", "-1", "zz")


def ask(rng: Random, kind: type[Method]) -> Ask:
    chosen = {}
    fields = kind.Options.model_fields
    if "seed" in fields:
        chosen["seed"] = rng.randrange(1000)
    if "balancing" in fields:
        chosen |= {"balancing": rng.choice(["partial", "full"]), "slack": rng.choice(["even", "count", "root"])}
    span = rng.choice([1, 4, 6, 9, 18, 42])
    params = SelfJoinParams(tolerance=rng.choice([0.05, 0.15, 0.3, 0.7]), error=rng.choice([0.0, 0.0, 0.05, 0.3]))
    window = Window(length=-(-span * TICK // EPOCH))
    return Ask(params, kind.Options(**chosen), window, epoch=EPOCH, tick=TICK, span=span)


def events(rng: Random, ask: Ask, cell: Cell) -> list[Event]:
    items = ITEMS[: rng.choice([2, 5, len(ITEMS)])]
    amount = rng.choice([1, 3, 20, 60])
    ticks = sorted(cell.first_tick + rng.randrange(cell.ticks) for _ in range(amount))
    return [{"item": rng.choice(items), "tick": tick} for tick in ticks]


MAKER = Maker("self-join-size", ask, events, restless=True)
