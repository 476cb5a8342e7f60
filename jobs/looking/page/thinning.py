"""Which epochs of a long chain a chart shows: all of the newest, and evenly fewer of the older ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOST_EPOCHS = 600
NEWEST = 300
_LEAST_EPOCHS = 60
_ALL_EPOCHS = 9_600
"""Of all monitors together: five megabytes, packed, if every answer has as many keys as are shown."""


def most_epochs(monitors: int) -> int:
    """How many epochs each of so many monitors may show, so that the page stays small."""
    return max(_LEAST_EPOCHS, min(MOST_EPOCHS, _ALL_EPOCHS // max(1, monitors)))


def shown_epochs(starts: NDArray[np.int64], most: int = MOST_EPOCHS) -> NDArray[np.int64]:
    """At most `most` of the starts, in order; the first and the last are always among them."""
    if len(starts) <= most:
        return starts
    newest = min(NEWEST, most // 2)
    older = starts[:-newest]
    positions = np.unique(np.linspace(0, len(older) - 1, most - newest).astype(np.int64))
    return np.concatenate([older[positions], starts[-newest:]])
