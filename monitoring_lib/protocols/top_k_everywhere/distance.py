"""How far two ranked lists are apart: Fagin's K with penalty 1/2, divided by its value for disjoint lists.

Fagin, Kumar and Sivakumar, "Comparing Top k Lists": over all pairs of items of the union, a pair costs 1 if the
lists are known to order it differently, 1/2 if one list holds both and the other none, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations


def distance(one: Sequence[str], other: Sequence[str]) -> float:
    """Fagin's K with p = 1/2. An item that a list lacks ranks behind all that it holds."""
    first = {item: rank for rank, item in enumerate(one)}
    second = {item: rank for rank, item in enumerate(other)}
    return sum(_penalty(a, b, first, second) for a, b in combinations(sorted(first.keys() | second.keys()), 2))


def _penalty(a: str, b: str, first: dict[str, int], second: dict[str, int]) -> float:
    known = [(ranks.get(a), ranks.get(b)) for ranks in (first, second)]
    orders = [_order(*pair) for pair in known]
    if 0 in orders:  # one list holds neither: it says nothing, unless the other holds both
        held = known[1 - orders.index(0)]
        return 0.5 if None not in held else 0.0
    return float(orders[0] != orders[1])


def _order(a: int | None, b: int | None) -> int:
    """-1 if the list puts a before b, 1 if behind, 0 if it holds neither."""
    if a is None and b is None:
        return 0
    if b is None or (a is not None and a < b):
        return -1
    return 1


def normalised_distance(one: Sequence[str], other: Sequence[str]) -> float:
    """0 for equal lists, 1 for disjoint ones of these lengths; both empty 0, one empty 1."""
    if not one or not other:
        return float(bool(one) != bool(other))
    furthest = len(one) * len(other) + (_pairs(len(one)) + _pairs(len(other))) / 2
    return distance(one, other) / furthest


def _pairs(length: int) -> int:
    return length * (length - 1) // 2
