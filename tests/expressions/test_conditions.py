"""The language of `where`: three-valued, exact, the same in Arrow as in plain Python."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitoring_lib.expressions import DEEPEST_NESTING, Values, faults_of, holds, numbers_in, parse, parse_condition

from .conditions import columns_of, conditions, meant, rows

COLUMNS = {
    "item": Values(pa.array(["apple", "Äpfel", None, "it's"])),
    "host": Values(pa.array(["10", "9", "x", None])),
    "value": Values(pa.array([1050, 1051, None, -5]), "number", 100),
    "high": Values(pa.array([float("inf"), 0.1, float("nan"), -3.0]), "number"),
    "partial": Values(pa.array([True, False, None, False]), "truth"),
}
KINDS = {name: values.kind for name, values in COLUMNS.items()}


def truth(condition: str) -> list[bool | None]:
    return holds(parse_condition(condition), COLUMNS, 4).to_pylist()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("value > 10.5", [False, True, None, False]),
        ("value >= 10.50", [True, True, None, False]),
        ("10.505 < value", [False, True, None, False]),
        ("value = 10.505", [False, False, None, False]),
        ("value != 10.505", [True, True, None, True]),
        ("value > -0.06 and value < -.04", [False, False, None, True]),
        ("value < 99999999999999999999", [True, True, None, True]),
        ("length(item) < 5", [False, False, None, True]),
        ("length(item) = value", [False, False, None, False]),
        ("number(host) >= 9.5", [True, False, None, None]),
        ("number(host) < value", [True, True, None, None]),
        ("host < '9'", [True, False, False, None]),
        ("item = 'it''s'", [False, False, None, True]),
        ("item is null", [False, False, True, False]),
        ("item IS NOT NULL", [True, True, False, True]),
        ("item in ('apple', 'x')", [True, False, None, False]),
        ("item not in ('apple', 'x')", [False, True, None, True]),
        ("value in (10.51, 3)", [False, True, None, False]),
        ("starts_with(lower(item), 'a')", [True, False, None, False]),
        ("item is null or value > 0", [True, True, True, False]),
        ("not (item = 'apple') and host = '9'", [False, True, False, None]),
        ("not partial", [False, True, None, True]),
        ("high > 1000 or partial", [True, False, None, False]),
        ("high = 0.1", [False, True, None, False]),
        ("high > 0.1", [True, False, None, False]),
        ("2 > 1", [True, True, True, True]),
    ],
)
def test_what_conditions_mean(condition, expected):
    assert list(faults_of(parse_condition(condition), KINDS, condition=True)) == []
    assert truth(condition) == expected


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("value >", "position 8 of .*ends where a column, a 'text', a number or a function should be"),
        ("value > 10 and", "position 15 of .*ends where"),
        ("value >> 1", "position 8 of .*found '>'"),
        ("value == 1", "position 8 of .*found '='"),
        ("(value > 1", r"position 11 of .*ends where '\)' should be"),
        ("value > 1)", r"position 10 of .*found '\)' where the condition should end"),
        ("item is 3", "position 9 of .*found '3' where null should be"),
        ("item not 3", "position 10 of .*found '3' where in should be"),
        ("item in ()", r"position 10 of .*found '\)' where a 'text' or a number should be"),
        ("item in ('a', 3)", "position 15 of .*texts and numbers cannot stand in one list"),
        ("length(item)", "position 13 of .*ends where a comparison"),
        ("starts_with(item, host)", "position 19 of .*starts_with needs a 'text'"),
        ("lenght(item) > 3", "position 1 of .*unknown function 'lenght'; did you mean 'length'"),
        ("concat(number(item), 'a') = 'a'", "position 8 of .*gives a number where a text should be"),
        ("and > 3", "position 1 of .*found 'and'"),
        ("value > 1.2.3", "position 9 of .*'1' is not understood"),
        ("PM2.5 > 3", "position 4 of .*found '.5'"),
        (" ", "cannot be empty"),
        ("not " * (DEEPEST_NESTING + 1) + "partial", "nested deeper"),
        ("(" * (DEEPEST_NESTING + 1) + "partial" + ")" * (DEEPEST_NESTING + 1), "nested deeper"),
    ],
)
def test_a_fault_names_its_position(text, fault):
    with pytest.raises(ValueError, match=fault):
        parse_condition(text)


@pytest.mark.parametrize(
    ("condition", "problem", "remedy"),
    [
        ("valeu > 3", "there is no column 'valeu'", "did you mean 'value'?"),
        ("item > 3", "item > 3 compares a text with a number", "write number(item), or '3' in quotes"),
        ("value = 'x'", "value = 'x' compares a number with a text", "numbers with numbers"),
        ("item", "column 'item' holds a text, not a truth value", "partial"),
        ("length(value) > 3", "column 'value' holds a number, not a text", "known: host, item"),
        ("value in ('a')", "column 'value' holds a number, not a text", "known: host, item"),
        ("item = 'x' or host = hots", "there is no column 'hots'", "did you mean 'host'?"),
    ],
)
def test_a_condition_that_does_not_fit_the_columns_is_told(condition, problem, remedy):
    [(found, advice)] = faults_of(parse_condition(condition), KINDS, condition=True)
    assert problem in found
    assert remedy in advice


def test_texts_are_made_of_text_columns_only():
    assert list(faults_of(parse("concat(item, host)"), KINDS)) == []
    [(problem, _)] = faults_of(parse("value"), KINDS)
    assert problem == "column 'value' holds a number, not a text"


def test_columns_that_are_compared_with_numbers_hold_numbers():
    condition = parse_condition("a > 3 and not (b = 'x' or c in (1, 2)) and length(d) < e")
    assert numbers_in(condition) == {"a", "c", "e"}


@given(conditions)
def test_what_is_written_reads_back_as_the_same(condition):
    assert parse_condition(str(condition)) == condition


@given(st.text(max_size=40) | st.text("ab(),'` 12.<=>!-notandinisu", max_size=40))
def test_any_text_is_a_condition_that_reads_back_or_a_value_error(text):
    try:
        condition = parse_condition(text)
    except ValueError:
        return
    assert parse_condition(str(condition)) == condition


@settings(max_examples=400)
@given(conditions, rows)
def test_arrow_agrees_with_what_is_meant(condition, table):
    assert holds(condition, columns_of(table), len(table)).to_pylist() == [meant(condition, row) for row in table]
