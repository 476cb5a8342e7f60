"""Unequal costs of messages, and steps that sources measure: what they do to the widths."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from monitoring_lib.protocols.aggregates.fixed.optimised import best_for_walks
from monitoring_lib.protocols.aggregates.terms import UNIT, Term, WidthConstraints
from tests.protocols.aggregates.driver import Network, Step, cut, method

TICKS = 50
MEAN = [{"name": "m", "ask": "avg", "precision": 100}]


def walk(rng: Random, step: int, epochs: int) -> list[int | None]:
    value, found = 0, []
    for _ in range(TICKS * epochs):
        value += rng.choice([-step, step])
        found.append(value)
    return found


def run(sizes: tuple[int, int], name: str, epochs: int, **options: Any) -> tuple[list[Step], list[int]]:
    """Two walks; the steps of the replay, and the widths at its end in whole steps."""
    rng = Random(2)
    series = {"a/0": walk(rng, sizes[0], epochs), "b/0": walk(rng, sizes[1], epochs)}
    network = Network(method(MEAN, TICKS, name, publish="epoch", **options))
    done = [network.step(cut(series, epoch, TICKS)) for epoch in range(epochs)]
    return done, [int(width) // UNIT for width in network.coordinator.widths]


def test_each_source_measures_its_steps_in_the_first_epoch_and_tells_them_once() -> None:
    steps, (narrow, wide) = run((1, 27), "optimised", 4)
    told = [sum(message.entries for message in step.settled.messages if message.kind == "steps") for step in steps]
    assert told == [2, 0, 0, 0]
    assert wide == pytest.approx(9 * narrow, rel=0.1)  # widths grow with the power 2/3 of the step
    _, given = run((1, 27), "optimised", 4, steps={"a/0": 1, "b/0": 27})
    assert given == [narrow, wide]


def test_an_object_whose_messages_cost_more_gets_a_wider_bound() -> None:
    _, (plain, dear) = run((10, 10), "optimised", 4, costs={"b/0": 27})
    assert dear == pytest.approx(3 * plain, rel=0.1)
    for name, epochs in (("curves", 6), ("text", 12)):
        _, (plain, dear) = run((30, 30), name, epochs, costs={"b/0": 50})
        assert dear > plain, name


@pytest.mark.parametrize("seed", range(8))
def test_the_best_widths_for_walks_are_those_of_a_general_solver(seed: int) -> None:
    rng = Random(seed)
    names = [str(number) for number in range(6)]
    terms = [
        Term(str(at), "sum", {name: rng.choice([1, 2, -3]) for name in rng.sample(names, rng.randint(2, 5))}, 1,
             Fraction(rng.randint(2_000, 9_000)))
        for at in range(4)
    ]  # fmt: skip
    rows = WidthConstraints.of(terms, names)
    rest = np.array([rng.uniform(1, 100) ** 2 for _ in names])
    bound = np.flatnonzero(rows.bound_objects)
    ours = best_for_walks(rows, rest, UNIT)[bound] / UNIT
    loads, limits = rows.weights[:, bound], rows.bounds / UNIT
    found = minimize(
        lambda widths: float((rest[bound] / widths**2).sum()), np.full(len(bound), 100.0), method="SLSQP",
        bounds=[(1.0, None)] * len(bound), options={"maxiter": 500, "ftol": 1e-12},
        constraints={"type": "ineq", "fun": lambda widths: limits - loads @ widths},
    )  # fmt: skip
    assert (rest[bound] / ours**2).sum() <= 1.02 * found.fun
