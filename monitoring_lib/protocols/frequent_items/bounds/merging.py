"""Bounds: what the lists of several children say together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from monitoring_lib.network import Delivery
from monitoring_lib.protocols.frequent_items.bounds.letters import Bounded
from monitoring_lib.protocols.frequent_items.lists import Union
from monitoring_lib.protocols.frequent_items.nodes import total_of

Send = Literal["raw", "upper"]


@dataclass(frozen=True, slots=True)
class MergedBounds:
    """``counts[u] <= exact(u) <= counts[u] + lacking[u]`` for every item u of the union, ``<= unlisted`` for others.

    All are whole numbers, so nothing is lost to rounding.
    """

    total: int
    unlisted: int
    union: Union
    counts: NDArray[np.int64]
    lacking: NDArray[np.int64]

    @classmethod
    def of(cls, node: str, inbox: Sequence[Delivery], send: Send) -> MergedBounds:
        """An item lacks what the children lack that list it, and what the others have of an unlisted item."""
        letters = [delivery.letter for delivery in inbox if isinstance(delivery.letter, Bounded)]
        total = total_of(node, (letter.total for letter in letters))
        unlisted = sum(letter.unlisted for letter in letters)
        union = Union.of([letter.names for letter in letters])
        lows = [letter.counts - letter.lacking if send == "upper" else letter.counts for letter in letters]
        more = [np.full(len(letter.counts), letter.lacking - letter.unlisted, np.int64) for letter in letters]
        return cls(total, unlisted, union, union.sums(lows, total), union.sums(more, total) + unlisted)

    def letter(self, error: Fraction, send: Send) -> Bounded:
        """Without the items that have at most ``error * total``."""
        most = self.counts + self.lacking
        kept = most > error.numerator * self.total // error.denominator
        names, places = self.union.chosen(kept)
        return Bounded(
            self.total,
            int(self.lacking[places].max(initial=0)),
            max(self.unlisted, int(most[~kept].max(initial=0))),
            names,
            most[places] if send == "upper" else self.counts[places],
        )
