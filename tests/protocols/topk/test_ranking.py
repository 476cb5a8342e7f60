"""Order statistics over maps, against sorting."""

from __future__ import annotations

from random import Random

import pytest

from monitoring_lib.protocols.topk import ranking
from monitoring_lib.tally import Tally


@pytest.mark.parametrize("largest", [3, 1000, 10**30])
def test_the_best_are_those_of_a_sort_by_number_then_name(largest: int) -> None:
    chance = Random(largest)
    for _ in range(200):
        sums = {f"i{number}": chance.randint(-largest, largest) for number in range(chance.randint(0, 30))}
        count, bound = chance.randint(1, 12), chance.randint(-largest, largest)
        pairs = list(sums.items())
        assert ranking.largest(sums, count) == sorted(pairs, key=lambda p: (-p[1], p[0]))[:count]
        assert ranking.smallest(sums, count) == sorted(pairs, key=lambda p: (p[1], p[0]))[:count]
        assert ranking.furthest(sums, count) == sorted(pairs, key=lambda p: (-abs(p[1]), p[0]))[:count]
        assert ranking.above(sums, bound) == sorted(pair for pair in pairs if pair[1] > bound)
        assert ranking.beyond(sums, bound) == sorted(pair for pair in pairs if abs(pair[1]) > bound)
        assert ranking.top_numbers(sums, count, -1) == sorted((-v for v in sums.values()), reverse=True)[:count]
        assert ranking.largest(Tally(sums.items()), count) == ranking.largest(sums, count)
