"""Reallocation: the paper's two objects, both invariants in whole numbers of any size, and why not otherwise."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from monitoring_lib.network import COORDINATOR
from monitoring_lib.protocols.topk.adjusted import UNIT
from monitoring_lib.protocols.topk.constraints import reallocation
from monitoring_lib.protocols.topk.constraints.reallocation import (
    Reallocation,
    ResolutionScope,
    Split,
    split_leeway,
    validates,
)


def no_factor(node: str, name: str) -> int:
    return 0


def two_objects() -> ResolutionScope:
    """V[1,.] = (9, 1), V[2,.] = (1, 3)."""
    scope = ResolutionScope({"1", "2"})
    scope.sums = {"a": {"1": 9 * UNIT, "2": 1 * UNIT}, "b": {"1": 1 * UNIT, "2": 3 * UNIT}}
    scope.borders = {"a": 0, "b": 0}
    return scope


def test_the_papers_two_objects_get_the_slack_that_the_paper_gives_them() -> None:
    scope = two_objects()
    split = split_leeway(scope.borders, None, (0, 1))
    tried = Reallocation(scope, no_factor, 0, 0, {"1"}, split)
    factors = tried.assign()
    assert factors["a", "1"] - factors["a", "2"] == -5 * UNIT
    assert factors["b", "1"] - factors["b", "2"] == 5 * UNIT
    assert tried.slacks(True) == {COORDINATOR: 0, "a": 3 * UNIT, "b": 3 * UNIT}
    for site, told in scope.sums.items():
        slack = told["1"] + factors[site, "1"] - told["2"] - factors[site, "2"]
        assert slack == 3 * UNIT


def test_half_of_the_leeway_stays_at_the_coordinator_if_it_is_told_so() -> None:
    scope = two_objects()
    tried = Reallocation(scope, no_factor, 0, 0, {"1"}, split_leeway(scope.borders, None, (1, 2)))
    assert tried.leeways == {"1": 10 * UNIT, "2": 4 * UNIT}
    assert tried.assign()[COORDINATOR, "1"] == 5 * UNIT
    assert tried.slacks(True) == {COORDINATOR: 3 * UNIT, "a": 3 * UNIT // 2, "b": 3 * UNIT // 2}


def test_parts_are_exact_and_grow_with_the_leeway_also_below_zero() -> None:
    chance = Random(1)
    for _ in range(300):
        weights = {str(node): chance.choice([0, 1, 1, 3, 1000]) for node in range(chance.randint(1, 6))}
        weights["last"] = 1
        split, largest = Split(weights), chance.choice([5, 10**4, 10**19])
        leeways = sorted(chance.randint(-largest, largest) for _ in range(6))
        parts = [split.parts(leeway) for leeway in leeways]
        assert [sum(part.values()) for part in parts] == leeways
        assert all(one[node] <= other[node] for one, other in pairwise(parts) for node in weights)


def random_scope(chance: Random, size: int) -> tuple[ResolutionScope, dict[tuple[str, str], int], set[str], int, Split]:
    """Members of the largest sums, factors that sum to 0, some objects told at some sites only."""
    sites = [f"s{number}" for number in range(chance.randint(1, 5))]
    names = [f"o{number}" for number in range(chance.randint(2, 7))]
    factors = {}
    for name in names:
        shifts = [chance.randint(-size, size) for _ in sites]
        factors |= {(site, name): shift for site, shift in zip(sites, shifts, strict=True)}
        factors[COORDINATOR, name] = -sum(shifts)
    sums = {site: {name: chance.randint(0, size) * UNIT for name in names} for site in sites}
    totals = {name: sum(told[name] for told in sums.values()) for name in names}
    ordered = sorted(names, key=lambda name: -totals[name])
    members = set(ordered[: chance.randint(1, len(names) - 1)])
    tolerance = chance.choice([0, 7, size])
    lowest = min(totals[name] for name in members) + tolerance
    scope = ResolutionScope(set(names), sums=sums)
    scope.borders = {site: chance.randint(0, max(0, lowest) // len(sites)) for site in sites}
    rates = {site: chance.randint(0, 50) for site in sites} if chance.random() < 0.5 else None
    split = split_leeway(sites, rates, chance.choice([(0, 1), (1, 2), (9, 10)]))
    return scope, factors, members, tolerance, split


def broken(
    scope: ResolutionScope, fresh: dict[tuple[str, str], int], members: set[str], tolerance: int, held: int
) -> bool:
    """Whether Invariant 2 or a site's constraint fails, the border and `held` standing for all other objects."""
    lowest = min(fresh[COORDINATOR, name] for name in members) + tolerance
    outside = [fresh[COORDINATOR, name] for name in scope.names | scope.loose if name not in members]
    if lowest < max((held, *outside)):
        return True
    for site, told in scope.sums.items():
        adjusted = {name: told[name] + fresh[site, name] for name in told if (site, name) in fresh}
        inside = min(adjusted[name] for name in members)
        if inside < max((scope.borders[site], *(adjusted[name] for name in adjusted if name not in members))):
            return True
    return False


@pytest.mark.parametrize("size", [3, 1000, 10**15])
def test_both_invariants_and_all_constraints_hold_exactly_after_every_reallocation(size: int) -> None:
    chance, tried_out = Random(size), 0
    while tried_out < 300:
        scope, factors, members, tolerance, split = random_scope(chance, size)
        tried = Reallocation(scope, lambda *key, f=factors: f[key], 0, tolerance, members, split)
        if not validates(tried.leeways, members):
            continue
        tried_out += 1
        fresh = tried.assign()
        for name in scope.names:
            assert sum(fresh[node, name] for node in (COORDINATOR, *scope.borders)) == 0
        assert not broken(scope, fresh, members, tolerance, 0)
        assert min(tried.slacks(True).values()) >= 0


@pytest.mark.parametrize("size", [3, 1000, 10**15])
def test_loose_objects_are_placed_below_the_members_and_keep_their_sum(size: int) -> None:
    chance, placed = Random(size + 1), 0
    while placed < 200:
        scope, factors, members, tolerance, split = random_scope(chance, size)
        loose = {name for name in scope.names - members if chance.random() < 0.7}
        scope.names -= loose
        scope.loose = loose
        held = max((0, *(factors[COORDINATOR, name] for name in ())))
        for name in loose:
            for site, told in scope.sums.items():
                if told[name] + factors[site, name] <= scope.borders[site] and chance.random() < 0.8:
                    del told[name]  # the border stands for it
        tried = Reallocation(scope, lambda *key, f=factors: f[key], held, tolerance, members, split)
        if not loose or not validates(tried.leeways, members) or tried.doubtful():
            continue
        placed += 1
        fresh = tried.assign()
        for name in loose:
            old = sum(factors[key] for key in fresh if key[1] == name)
            assert sum(factor for key, factor in fresh.items() if key[1] == name) == old
        assert not broken(scope, fresh, members, tolerance, held)


def test_a_remainder_set_last_would_break_an_invariant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Floors, and what they leave to the last node: exact in sum, but not growing with the leeway everywhere."""

    def remainder_last(self: Split, leeway: int) -> dict[str, int]:
        total = sum(self.weights.values())
        *first, last = self.weights
        parts = {node: leeway * self.weights[node] // total for node in first}
        return {last: leeway - sum(parts.values()), **parts}

    monkeypatch.setattr(reallocation.Split, "parts", remainder_last)
    chance = Random(5)
    found = 0
    for _ in range(2000):
        scope, factors, members, tolerance, split = random_scope(chance, 3)
        tried = Reallocation(scope, lambda *key, f=factors: f[key], 0, tolerance, members, split)
        if validates(tried.leeways, members):
            found += broken(scope, tried.assign(), members, tolerance, 0)
    assert found
