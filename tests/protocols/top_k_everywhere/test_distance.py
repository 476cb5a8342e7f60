"""Fagin's distance between ranked lists."""

from __future__ import annotations

import pytest

from monitoring_lib.protocols.top_k_everywhere.distance import distance, normalised_distance


def test_pairs_cost_what_the_paper_says() -> None:
    assert distance("ab", "ba") == 1, "both lists hold both, in another order"
    assert distance("ab", "b") == 1, "a list without a puts it behind b"
    assert distance("ab", "a") == 0
    assert distance("ab", "c") == 2 + 0.5, "a and b against c, and a pair of which the other list knows nothing"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("", "", 0), ("a", "", 1), ("", "a", 1), ("abc", "abc", 0), ("abc", "def", 1), ("ab", "cde", 1)],
)
def test_the_normalised_distance_runs_from_0_to_1(one: str, other: str, expected: float) -> None:
    assert normalised_distance(one, other) == expected
