"""Exact sums by item."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from monitoring_lib.codec import Names, decode, encode
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


def test_a_sum_beyond_64_bits_is_refused_by_name_and_never_wrapped() -> None:
    with pytest.raises(ValueError, match=r"weights: the sum of 'a' is 18446744073709551614, which does not fit"):
        Counts.of(["a", "b", "a"], np.array([2**63 - 1, 1, 2**63 - 1]))
    with pytest.raises(ValueError, match="weights: the sum of 'a' is 9223372036854775808"):
        Counts.of(["a"], np.array([2**63], np.uint64))
    half = Counts.of(["a"], np.array([2**62]))
    with pytest.raises(ValueError, match="the sum of 'a' is 9223372036854775808"):
        half.merge(half)
    with pytest.raises(ValueError, match="sums: that of 'a' does not fit in 64 bits"):
        Counts.of_pairs([("a", 2**63)])


def test_sums_that_pass_64_bits_on_the_way_but_not_in_the_end_are_exact() -> None:
    most = 2**63 - 1
    counts = Counts.of(["a"] * 4 + ["b"], np.array([most, most, -most, 5 - most, most]))
    assert dict(counts) == {"a": 5, "b": most}
    assert dict(Counts.of(["a", "a"], np.array([2**62, 2**62 - 1], np.uint64))) == {"a": most}


def test_many_parts_are_merged_in_one_pass() -> None:
    rng = np.random.default_rng(2)
    parts = [Counts.of([f"i{n}" for n in rng.integers(0, 30, 40)], rng.integers(-3, 4, 40)) for _ in range(20)]
    exact = Counter[str]()
    for part in [*parts, Counts()]:
        exact.update(dict(part))
    merged = Counts.merge_all([*parts, Counts()])
    assert dict(merged) == {item: total for item, total in exact.items() if total}
    assert merged.names == sorted(merged.names)
    assert len(Counts.merge_all([Counts(), Counts()])) == 0


def test_names_read_from_an_image_stay_a_column_and_give_the_same_image() -> None:
    counts = Counts.of([f"item {number:05}" for number in range(40_000)])
    again = decode(encode(counts), Counts)
    assert encode(again) == encode(counts) == encode(Counts(Names(list(counts.names)), counts.sums))
    assert again.names == counts.names


def test_as_many_sums_as_names_are_needed() -> None:
    with pytest.raises(ValueError, match="sums: 2 expected"):
        Counts(["a", "b"], np.array([1]))
