"""Exact sums by item."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from monitoring_lib.synopses.counts import Counts


def test_counts_each_item_once_if_no_weights_are_given() -> None:
    counts = Counts.of(["b", "a", "b", "é", "b"])
    assert dict(counts) == {"a": 1, "b": 3, "é": 1}
    assert counts.names == sorted(counts.names)


def test_sums_the_weights_exactly_beyond_what_a_float_holds() -> None:
    large = 2**53
    counts = Counts.of(["a", "a", "b"], np.array([large, 1, -large]))
    assert counts.estimate("a") == large + 1
    assert counts.estimate("b") == -large


def test_an_item_whose_weights_cancel_is_gone() -> None:
    counts = Counts.of(["a", "b", "a"], np.array([5, 1, -5]))
    assert dict(counts) == {"b": 1}
    counts.update(["b"], np.array([-1]))
    assert len(counts) == 0


def test_an_item_never_seen_counts_0_exactly() -> None:
    bound = Counts.of(["a"]).bound("z")
    assert (bound.low, bound.high, bound.guarantee) == (0, 0, "always")


def test_agrees_with_a_dictionary_on_random_data_in_random_batches() -> None:
    rng = np.random.default_rng(1)
    counts, exact = Counts(), Counter[str]()
    for _ in range(30):
        items = [f"i{number}" for number in rng.integers(0, 40, rng.integers(0, 50))]
        weights = rng.integers(-3, 4, len(items))
        counts.update(items, weights)
        for item, weight in zip(items, weights.tolist(), strict=True):
            exact[item] += weight
    assert dict(counts) == {item: total for item, total in exact.items() if total}


def test_takes_arrow_strings_and_pairs_already_summed() -> None:
    assert dict(Counts.of(pa.array(["x", "y", "x"]))) == {"x": 2, "y": 1}
    assert dict(Counts.of_pairs([("y", 1), ("x", 2), ("z", 0)])) == {"x": 2, "y": 1}


def test_fractions_are_refused() -> None:
    with pytest.raises(ValueError, match="weights: whole numbers"):
        Counts.of(["a"], np.array([0.5]))


def test_as_many_sums_as_names_are_needed() -> None:
    with pytest.raises(ValueError, match="sums: 2 expected"):
        Counts(["a", "b"], np.array([1]))
