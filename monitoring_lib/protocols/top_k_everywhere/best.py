"""The best k of a map of items to sums: sites, views and the truth rank alike, ties by the smallest item."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

Pair = tuple[str, int]


def best(pairs: Iterable[Pair], k: int) -> list[Pair]:
    """The k items of the largest sums above 0, largest first; of equal sums the smallest item comes first."""
    ranked = heapq.nsmallest(k, [(-total, item) for item, total in pairs if total > 0])
    return [(item, -total) for total, item in ranked]
