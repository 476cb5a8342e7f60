"""An event of weight n counts as n events of weight 1 at the same moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

BASES = ("time", "count")


def assert_bulk_equals_singles(make: Callable[[str], Any], weights: Sequence[int], ticks: int) -> None:
    """To the byte, for both bases of a window; `make` gives an empty counter over a basis."""
    rng = np.random.default_rng(5)
    for basis in BASES:
        bulk, single = make(basis), make(basis)
        for tick in range(ticks):
            weight = int(rng.choice(weights))
            if basis == "time":
                bulk.update([weight], ticks=tick)
                single.update(ticks=np.full(weight, tick))
            else:
                bulk.update([weight])
                single.update(np.ones(weight, np.int64))
            assert bulk.to_bytes() == single.to_bytes()
