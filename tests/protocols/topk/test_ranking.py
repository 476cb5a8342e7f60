"""Order statistics over maps, against sorting."""

from __future__ import annotations

from random import Random

import pytest

from monitoring_lib.protocols.topk.constraints.highest import Highest
from monitoring_lib.protocols.topk.ranking import Ranking
from monitoring_lib.tally import Tally


@pytest.mark.parametrize("largest", [3, 1000, 10**30])
def test_the_best_are_those_of_a_sort_by_number_then_name(largest: int) -> None:
    chance = Random(largest)
    for _ in range(200):
        sums = {f"i{number}": chance.randint(-largest, largest) for number in range(chance.randint(0, 150))}
        count, bound = chance.randint(1, 30), chance.randint(-largest, largest)
        pairs = list(sums.items())
        assert Ranking(sums).largest(count) == sorted(pairs, key=lambda p: (-p[1], p[0]))[:count]
        assert Ranking(sums).smallest(count) == sorted(pairs, key=lambda p: (p[1], p[0]))[:count]
        assert Ranking(sums).furthest(count) == sorted(pairs, key=lambda p: (-abs(p[1]), p[0]))[:count]
        assert Ranking(sums).above(bound) == sorted(pair for pair in pairs if pair[1] > bound)
        assert Ranking(sums).beyond(bound) == sorted(pair for pair in pairs if abs(pair[1]) > bound)
        assert Ranking(sums).top_numbers(count, -1) == sorted((-v for v in sums.values()), reverse=True)[:count]
        assert Ranking(Tally(sums.items())).largest(count) == Ranking(sums).largest(count)


def test_the_largest_number_outside_of_some_names_is_that_of_a_search() -> None:
    chance = Random(8)
    for _ in range(30):
        names = [f"i{number}" for number in range(chance.choice([1, 4, 30]))]
        numbers = {name: chance.randint(-3, 3) for name in names}
        highest = Highest(numbers.items())
        for _ in range(300):
            name, number = chance.choice(names), chance.randint(-5, 9)
            numbers[name] = number
            highest.set(name, number)
            apart = set(chance.sample(names, chance.randint(0, len(names))))
            assert highest.outside(apart) == max((0, *(numbers[name] for name in names if name not in apart)))
            assert set(highest) == {name for name in names if numbers[name] > 0}
