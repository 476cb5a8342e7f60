"""Values times scale are whole, exactly, or the row is faulty."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.input.reading.reasons import Reasons
from jobs.input.reading.values import parse_values


def parsed(values, scale=1, kind=None):
    reasons = Reasons()
    numbers = parse_values(pa.array(values, kind or pa.string()), scale, reasons)
    assert numbers.type == pa.int64()
    return numbers.to_pylist(), {row: reason.text for row, reason in reasons.by_row.items()}


@pytest.mark.parametrize(
    ("text", "scale", "number"),
    [
        ("33", 1, 33),
        ("-7", 1, -7),
        ("+7", 1, 7),
        ("6.95", 100, 695),
        ("6.950", 100, 695),
        ("-0.01", 100, -1),
        ("1e3", 1, 1000),
        ("5.", 1, 5),
        (".5", 10, 5),
        ("33.0", 1, 33),
        (" 33 ", 1, 33),
        ("9223372036854775807", 1, 2**63 - 1),
        ("-9223372036854775807", 1, -(2**63) + 1),
        ("0.1", 60, 6),
        ("1.5", 2, 3),
    ],
)
def test_a_value_is_kept_exactly(text, scale, number):
    assert parsed([text, None], scale) == ([number, None], {})
    assert parsed([text, "junk", text], scale)[0] == [number, None, number]


@pytest.mark.parametrize(
    ("text", "scale", "reason"),
    [
        ("1.255", 100, "value 1.255 needs scale 1000"),
        ("1.25", 1, "value 1.25 needs scale 100"),
        ("0.1", 3, "value 0.1 needs scale 10"),
        ("1e-12", 1, "value 1e-12 needs scale 1e12"),
        ("nan", 1, "value 'nan' is no number"),
        ("inf", 1, "value 'inf' is no number"),
        ("0x1F", 1, "value '0x1F' is no number"),
        ("1_000", 1, "value '1_000' is no number"),
        ("1,5", 10, "value '1,5' is no number"),
        ("٣", 1, "value '٣' is no number"),
        ("1e999", 1, "value 1e999 times the scale 1 does not fit in 64 bits"),
        ("9223372036854775807", 10, "value 9223372036854775807 times the scale 10 does not fit in 64 bits"),
    ],
)
def test_what_would_be_rounded_is_a_fault(text, scale, reason):
    assert parsed(["1", text], scale) == ([scale, None], {1: reason})


@given(st.lists(st.decimals(-(10**12), 10**12, places=2), min_size=1, max_size=20))
def test_texts_and_decimals_of_two_places_are_exact_at_scale_100(values):
    expected = [int(value * 100) for value in values]
    assert parsed([str(value) for value in values], 100) == (expected, {})
    assert parsed(values, 100, pa.decimal128(20, 2)) == (expected, {})


@given(st.lists(st.integers(-(10**13), 10**13), min_size=1, max_size=20), st.sampled_from([1, 2, 60, 100, 1000]))
def test_a_double_stands_for_the_shortest_decimal_that_reads_back_as_it(numbers, scale):
    assert parsed([number / scale for number in numbers], scale, pa.float64()) == (numbers, {})


@given(st.lists(st.floats(width=64), max_size=20), st.sampled_from([1, 10, 100]))
def test_doubles_agree_with_decimal_arithmetic(values, scale):
    numbers, faults = parsed(values, scale, pa.float64())
    for at, value in enumerate(values):
        exact = Decimal(repr(value)) * scale if value == value and abs(value) != float("inf") else None
        whole = exact is not None and exact == exact.to_integral_value() and abs(exact) < 2**63
        assert (numbers[at] == exact) if whole else (numbers[at] is None and at in faults)


def test_whole_columns_are_multiplied_and_must_fit():
    assert parsed([1, None, -3], 100, pa.int32()) == ([100, None, -300], {})
    numbers, faults = parsed([2**63, 5], 1, pa.uint64())
    assert (numbers, sorted(faults)) == ([None, 5], [0])
    numbers, faults = parsed([2**62, 5], 10, pa.int64())
    assert (numbers, sorted(faults)) == ([None, 50], [0])
