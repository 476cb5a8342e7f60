"""Random streams for the first toy: values that now and then outgrow all before them."""

from __future__ import annotations

from random import Random

from monitoring_lib.epochs import Window
from monitoring_lib.methods import Ask, Keys
from monitoring_lib.synopses.counts import Counts
from tests.laws.questions import Maker, growing_or_reset


def monitor(rng: Random) -> tuple[Keys, Window, int]:
    return Keys(), growing_or_reset(rng), 1


def synopsis(rng: Random, ask: Ask, node: str, start: int, end: int) -> Counts:
    return Counts.of_pairs([("value", rng.randint(1, 1 << rng.randint(1, 60)))])


MAKER = Maker("largest-value", monitor, synopsis)
