"""The paper's example and its formulas, to the digit."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from monitoring_lib.protocols.frequent_items.bounds import Bounds
from monitoring_lib.protocols.frequent_items.gradient import Gradient, tolerances
from monitoring_lib.protocols.frequent_items.gradient.letters import LoweredCounts
from monitoring_lib.replay import Step
from tests.protocols.frequent_items.driver import broken, items, loads, method, run, total

TREE = {"parents": {"1": "left", "2": "left", "3": "right", "4": "right", "left": "root", "right": "root"}}


def leaf(of_b: int, of_c: int) -> dict[str, int]:
    """A 9 times, and 13 items each of two kinds: 100 in all."""
    return {"A": 9, **{f"B{i}": of_b for i in range(13)}, **{f"C{i}": of_c for i in range(13)}}


LEAVES = {"1": leaf(6, 1), "2": leaf(1, 6), "3": leaf(6, 1), "4": leaf(1, 6)}


@pytest.fixture
def second_level(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Runs the example with the tolerance that the sites are given, and 0.05 above them."""

    def play(tolerance: str) -> Step:
        shares = (Fraction(1, 20), Fraction(1, 20), Fraction(tolerance))
        monkeypatch.setattr(tolerances, "gradient", lambda *_: tolerances.ToleranceGradient(shares))
        return run(method(tree=TREE, kind=Gradient), [LEAVES])[0]

    return play


@pytest.mark.parametrize(("tolerance", "expected"), [("0", (2, 27, 27)), ("0.03", (2, 14, 14)), ("0.05", (54, 14, 27))])
def test_loads_of_the_paper_s_example(second_level, tolerance: str, expected: tuple[int, int, int]) -> None:  # type: ignore[no-untyped-def]
    step = second_level(tolerance)
    assert loads(step) == expected
    assert not broken([step])


def test_a_reaches_the_root_as_8_from_each_side(second_level) -> None:  # type: ignore[no-untyped-def]
    step = second_level("0.03")
    arrived = [
        message.delivery((LoweredCounts,)).letter
        for message in step.settled.messages
        if message.sender in ("@node/left", "@node/right")
    ]
    assert [(list(letter.names), letter.counts.tolist()) for letter in arrived] == [(["A"], [8.0])] * 2


def test_strategies_that_the_example_is_about_are_offered() -> None:
    full = run(method(tree=TREE, kind=Gradient, strategy="full", first_level=1), [LEAVES])[0]
    root_load = run(method(tree=TREE, kind=Gradient, strategy="min-root-load", first_level=1), [LEAVES])[0]
    raw = run(method(tree=TREE, kind=Gradient, strategy="zero"), [LEAVES])[0]
    assert (loads(full), loads(root_load), loads(raw)) == ((54, 14, 27), (2, 27, 27), (54, 27, 27))


@pytest.mark.parametrize("send", ["raw", "upper"])
def test_loads_of_bounds_in_the_example(send: str) -> None:
    step = run(method(tree=TREE, kind=Bounds, send=send), [LEAVES])[0]
    assert loads(step) == (2, 14, 14)
    assert not broken([step])


def test_bounds_lose_nothing_of_what_every_child_lists() -> None:
    step = run(method(support="0.09", tree=TREE), [LEAVES])[0]
    assert items(step) == {}
    step = run(method(support="0.08", tree=TREE), [LEAVES])[0]
    assert items(step) == {"A": (36, 36, 36)}
    assert total(step) == 400


def test_worst_case_tolerances_and_heaviest_link() -> None:
    first = Fraction("0.0009")
    shares = tolerances.gradient("worst-case", Fraction("0.001"), first, depth=3, fanout=6).shares
    assert shares == (Fraction("0.001"), first, first * 11 / 16, first * 6 / 16)
    assert float(tolerances.heaviest_worst_case(first, depth=3, fanout=6)) == pytest.approx(2962.96, abs=0.005)


@pytest.mark.parametrize("strategy", ["zero", "full", "min-root-load", "worst-case", "mixed"])
@pytest.mark.parametrize("depth", [1, 2, 3, 7])
@pytest.mark.parametrize("fanout", [1, 2, 6, 100])
def test_every_gradient_falls_from_the_root_to_the_sites(
    strategy: tolerances.Strategy, depth: int, fanout: int
) -> None:
    error = Fraction(1, 100)
    for first in (Fraction(0), error * 9 / 10, error):
        for commonality in (Fraction(0), Fraction(1, 3), Fraction(1)):
            shares = tolerances.gradient(strategy, error, first, depth, fanout, commonality).shares
            assert len(shares) == depth + 1
            assert all(upper >= lower >= 0 for upper, lower in pairwise(shares))
            if strategy != "zero":
                assert shares[1] == first


def test_the_mixed_gradient_lies_between_full_and_worst_case() -> None:
    error, first = Fraction(1, 100), Fraction(9, 1000)
    full, worst = (tolerances.gradient(name, error, first, 3, 6).shares for name in ("full", "worst-case"))
    assert tolerances.gradient("mixed", error, first, 3, 6, Fraction(1)).shares == full
    assert tolerances.gradient("mixed", error, first, 3, 6, Fraction(0)).shares == worst
    half = tolerances.gradient("mixed", error, first, 3, 6, Fraction(1, 2)).shares
    assert half == tuple((one + other) / 2 for one, other in zip(full, worst, strict=True))
