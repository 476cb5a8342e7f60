"""Random streams for the second toy: sums, of either sign, at a few ticks of the epoch."""

from __future__ import annotations

from random import Random

import numpy as np

from monitoring_lib.epochs import Window
from monitoring_lib.methods import Ask, Keys
from tests.laws.questions import Maker, any_window
from tests.laws.toys.running_sum import TickSums, summed


def monitor(rng: Random) -> tuple[Keys, Window, int]:
    return Keys(), any_window(rng), 1


def synopsis(rng: Random, ask: Ask, node: str, start: int, end: int) -> TickSums:
    ticks = np.array([rng.randrange(start, end) for _ in range(rng.randint(1, 5))])
    return TickSums(*summed(ticks, np.array([rng.randint(-9, 99) for _ in ticks])))


MAKER = Maker("running-sum", monitor, synopsis)
