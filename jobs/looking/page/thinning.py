"""Which epochs of a long chain a chart shows: all of the newest, and evenly fewer of the older ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOST_EPOCHS = 600
_NEWEST = 300


def shown_epochs(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """At most `MOST_EPOCHS` of the starts, in order; the first and the last are always among them."""
    if len(starts) <= MOST_EPOCHS:
        return starts
    older = starts[:-_NEWEST]
    places = np.unique(np.linspace(0, len(older) - 1, MOST_EPOCHS - _NEWEST).astype(np.int64))
    return np.concatenate([older[places], starts[-_NEWEST:]])
