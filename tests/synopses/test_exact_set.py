"""The exact set of items."""

from __future__ import annotations

import numpy as np
import pytest

from monitoring_lib.synopses.exact_set import ExactSet


def test_counts_distinct_items_exactly_over_batches() -> None:
    rng = np.random.default_rng(1)
    exact: set[int] = set()
    synopsis = ExactSet()
    for _ in range(10):
        items = rng.integers(-500, 500, 200)
        synopsis.update(items)
        exact |= set(items.tolist())
    assert synopsis.estimate() == len(exact) == len(synopsis)
    assert list(synopsis.items) == sorted(exact)
    assert synopsis.bound().guarantee == "always"


def test_names_any_unicode() -> None:
    synopsis = ExactSet()
    synopsis.update(["é", "e\u0301", "", "日本", "é", "a'b/c"])
    assert set(synopsis.items) == {"é", "e\u0301", "", "日本", "a'b/c"}


def test_an_item_of_weight_0_did_not_occur() -> None:
    synopsis = ExactSet()
    synopsis.update(["a", "b"], np.array([0, 2]))
    assert list(synopsis.items) == ["b"]


def test_strings_and_whole_numbers_do_not_mix() -> None:
    strings, numbers = ExactSet(), ExactSet()
    strings.update(["1"])
    numbers.update([1])
    with pytest.raises(ValueError, match="strings against whole numbers"):
        strings.merge(numbers)
    with pytest.raises(ValueError, match="cannot hold both"):
        strings.update([1])
