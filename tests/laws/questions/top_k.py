"""Random monitors and streams for top-k: skewed counts with bursts, ties, signs, and names of every kind."""

from __future__ import annotations

from decimal import Decimal
from random import Random

from monitoring_lib.epochs import Window
from monitoring_lib.methods import Ask
from monitoring_lib.protocols.topk.question import TopKParams
from monitoring_lib.synopses.counts import Counts
from tests.laws.questions import Maker, any_window

ITEMS = (
    "plain",
    "",
    " ",
    'it\'s "quoted"',
    "two\nlines",
    "Ünïcødé 💧",
    "@at",
    "*",
    "long" * 200,
    "0",
    "-1",
    "b",
    "c",
)


def monitor(rng: Random) -> tuple[TopKParams, Window, int]:
    params = TopKParams(
        k=rng.choice([1, 2, 3, 5, 20]),
        tolerance=Decimal(rng.choice(["0", "1", "7.5", "30", "200"])),
        order=rng.choice(["largest", "largest", "smallest"]),
        signed=rng.random() < 0.4,
    )
    return params, any_window(rng), rng.choice([1, 1, 100])


def synopsis(rng: Random, ask: Ask, node: str, start: int, end: int) -> Counts:
    items = ITEMS[: rng.choice([2, 5, len(ITEMS)])]
    if ask.params.order == "smallest":  # an item lives at one site
        items = tuple(f"{item}|{node}" for item in items)
    largest = ask.scale * rng.choice([1, 3, 20, 300])
    pairs = {item: rng.randint(1, max(1, largest // (rank + 1))) for rank, item in enumerate(items)}
    if ask.params.signed:
        pairs = {item: value * rng.choice([1, 1, -1]) for item, value in pairs.items()}
    chosen = rng.sample(sorted(pairs), rng.randint(1, len(pairs)))
    return Counts.of_pairs((item, pairs[item]) for item in chosen)


MAKER = Maker("top-k", monitor, synopsis)
