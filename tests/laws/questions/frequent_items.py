"""Random monitors and streams for frequent-items: few items of very different counts, all kinds of trees."""

from __future__ import annotations

from decimal import Decimal
from random import Random

from monitoring_lib.methods import Ask, Method
from monitoring_lib.network import site_of_node
from monitoring_lib.protocols.frequent_items.bounds import Bounds
from monitoring_lib.protocols.frequent_items.gradient import Gradient
from monitoring_lib.protocols.frequent_items.question import FrequentItemsParams
from monitoring_lib.protocols.frequent_items.trees import TreeParams
from monitoring_lib.summaries import Cell, Measure
from tests.laws.questions import EPOCH, Event, Maker, growing_or_reset

ITEMS = ("plain", "", 'it\'s "quoted"', "two\nlines", "Ünïcødé 💧", "@at", "b", "c", "long" * 200, "0", "-1", "zz")
TREES = (
    TreeParams(),
    TreeParams(fanout=2),
    TreeParams(fanout=3),
    TreeParams(levels=("region", "city")),
    TreeParams(
        parents={"Zürich": "hub", "plain": "hub", "hub": "north", "@all": "north", "*": "root", "north": "root"}
    ),
)


def ask(rng: Random, kind: type[Method]) -> Ask:
    support = Decimal(rng.choice(["0.01", "0.05", "0.1", "0.3", "1"]))
    error = support * Decimal(rng.choice(["0", "0.1", "0.5", "0.5", "1"]))
    decay = Decimal(rng.choice(["0", "0.5", "0.6", "0.9", "0.9", "1", "1", "1"]))
    params = FrequentItemsParams(support=support, error=error, decay=decay, tree=rng.choice(TREES))
    options = kind.Options()
    if kind is Bounds:
        options = Bounds.Options(send=rng.choice(["raw", "upper"]))
    elif kind is Gradient:
        options = Gradient.Options(
            strategy=rng.choice(["zero", "full", "min-root-load", "worst-case", "mixed", "mixed"]),
            algorithm=rng.choice(["a", "b"]),
            first_level=Decimal(rng.choice(["0.9", "0.9", "1", "0.37", "0"])),
        )
    scale = rng.choice([1, 1, 100])
    return Ask(params, options, growing_or_reset(rng), scale, Measure("sum", "value"), EPOCH, EPOCH)


def events(rng: Random, ask: Ask, cell: Cell) -> list[Event]:
    items = ITEMS[: rng.choice([2, 5, len(ITEMS)])]
    largest = rng.choice([1, 3, 20, 300])
    chosen = rng.sample(items, rng.randint(1, len(items)))
    return [{"item": item, "value": rng.randint(1, largest) if rng.random() < 0.8 else 1} for item in chosen]


def placement(node: str) -> tuple[str, ...]:
    """Some in a city, some in a region alone, some nowhere."""
    site = site_of_node(node)
    return (("north", "south", "")[len(site) % 3], ("a/b", "", "Zürich")[ord(site[0]) % 3])


MAKER = Maker("frequent-items", ask, events, restless=True, placement=placement)
