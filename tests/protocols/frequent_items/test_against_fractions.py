"""Doubles and columns against fractions and dicts: the same lists on every link, the same counts at the root."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from monitoring_lib.protocols.frequent_items.bounds import Bounds
from monitoring_lib.protocols.frequent_items.gradient import Gradient, tolerances
from monitoring_lib.replay import Step
from monitoring_lib.topology import Tree
from tests.protocols.frequent_items.driver import broken, method, run
from tests.protocols.frequent_items.reference import BoundsReference, GradientReference

SITES = [f"site {number}" for number in range(9)]
TREES: list[dict[str, Any]] = [
    {"fanout": 6},
    {"fanout": 2},
    {"parents": {"site 0": "a", "site 1": "b", "site 2": "b", "b": "a", "a": "root", "site 3": "c", "c": "root"}},
]


def streams(rng: Random, epochs: int = 8) -> list[dict[str, dict[str, int]]]:
    """Few items; some at one site only, some everywhere; epochs without any event; weights of very different size."""
    found = []
    for epoch in range(epochs):
        busy, largest = rng.choice([0, 0.4, 1, 1]) if epoch else 1, rng.choice([2, 12, 400])
        leaves: dict[str, dict[str, int]] = {}
        for number, site in enumerate(SITES):
            names = ["a", "b", f"own {number}", f"own {number // 3}", *(f"x{i}" for i in range(rng.choice([0, 3, 30])))]
            here = rng.random() < busy
            leaves[site] = {name: rng.randint(1, largest) for name in names if rng.random() < 0.7} if here else {}
        found.append(leaves)
    return found


def entries(step: Step) -> dict[str, int]:
    sent: dict[str, int] = {}
    for message in step.settled.messages:
        if message.kind != "commonality":
            sent[message.sender] = message.entries
    return sent


def assert_agrees(step: Step, expected: Mapping[str, int]) -> None:
    assert {node: count for node, count in expected.items() if count} == {n: c for n, c in entries(step).items() if c}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("algorithm", ["a", "b"])
def test_the_gradient_in_doubles_agrees_with_fractions(seed: int, algorithm: str) -> None:
    rng = Random(seed)
    decay, error = rng.choice(["0", "0.6", "0.9", "1"]), rng.choice(["0.001", "0.01", "0.07", "0.2"])
    strategy = rng.choice(["zero", "full", "min-root-load", "worst-case"])
    first, tree = rng.choice(["0.9", "1", "0.5"]), rng.choice(TREES)
    running = method("0.2", error, decay, tree, Gradient, strategy=strategy, first_level=first, algorithm=algorithm)
    epochs = streams(rng)
    steps = run(running, epochs)
    topology = steps[0].moment.topology
    assert isinstance(topology, Tree)
    fanout = max(len(topology.children(node)) for node in topology.inner)
    shares = tolerances.gradient(
        strategy, Fraction(error), Fraction(error) * Fraction(first), topology.depth, fanout
    )  # fmt: skip
    reference = GradientReference(topology, shares, algorithm, Fraction(decay))
    for step, leaves in zip(steps, epochs, strict=True):
        assert_agrees(step, reference.epoch(leaves).entries)
        border = (Fraction("0.2") - Fraction(error)) * reference.total
        expected = {item: float(count) for item, count in reference.kept.items() if count > border}
        found = {row.key: row.estimate for row in step.settled.answers if row.rank is not None}
        assert found == pytest.approx(expected, rel=1e-9)
    assert broken(steps) == []


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("send", ["raw", "upper"])
def test_bounds_in_doubles_agree_with_fractions(seed: int, send: str) -> None:
    rng = Random(100 + seed)
    decay, error = rng.choice(["0", "0.6", "0.9", "1"]), rng.choice(["0", "0.01", "0.07", "0.2"])
    running = method("0.2", error, decay, rng.choice(TREES), Bounds, send=send)
    epochs = streams(rng)
    steps = run(running, epochs)
    topology = steps[0].moment.topology
    assert isinstance(topology, Tree)
    reference = BoundsReference(topology, Fraction(error), send == "upper", Fraction(decay))
    for step, leaves in zip(steps, epochs, strict=True):
        assert_agrees(step, reference.epoch(leaves).entries)
        low = reference.low
        high = {item: low[item] + reference.lacking[item] for item in low}
        expected = {
            item: (max(0.0, float(low[item])), float(high[item]))
            for item in low
            if high[item] > Fraction("0.2") * reference.total
        }
        found = {row.key: (row.low, row.high) for row in step.settled.answers if row.rank is not None}
        assert found.keys() == expected.keys()
        for item, bounds in found.items():
            assert bounds == pytest.approx(expected[item], rel=1e-9, abs=1e-9 * float(reference.total))
    assert broken(steps) == []


@pytest.mark.parametrize("seed", range(20))
def test_upper_bounds_never_take_a_longer_list_than_lowered_counts(seed: int) -> None:
    rng = Random(200 + seed)
    tree, error, epochs = rng.choice(TREES), rng.choice(["0.01", "0.07", "0.2"]), streams(rng)
    upper = run(method("0.2", error, "0.9", tree, Bounds, send="upper"), epochs)
    full = run(method("0.2", error, "0.9", tree, Gradient, strategy="full", first_level=1), epochs)
    for one, other in zip(upper, full, strict=True):
        longest = entries(other)
        assert all(count <= longest[node] for node, count in entries(one).items())


def test_whole_numbers_without_decay_are_exact_to_the_digit() -> None:
    epochs = streams(Random(1), 12)
    for running in (method("0.01", "0"), method("0.01", "0", kind=Gradient, strategy="zero")):
        for step in run(running, epochs):
            assert all(row.low == row.estimate == row.high for row in step.settled.answers)


def test_messages_of_raw_counts_hold_whole_numbers() -> None:
    step = run(method("0.2", "0.1", kind=Gradient, strategy="min-root-load", tree={"fanout": 2}), streams(Random(1)))[0]
    kinds: dict[bool, set[str]] = {True: set(), False: set()}
    for message in step.settled.messages:
        assert isinstance(step.moment.topology, Tree)
        kinds[step.moment.topology.level(message.sender) == 1].add(message.kind)
    assert kinds == {True: {"lowered-counts"}, False: {"raw-counts"}}
