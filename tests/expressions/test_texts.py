"""The language of `columns` and `item`."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring_lib.expressions import DEEPEST_NESTING, FUNCTIONS, Call, ColumnName, Text, evaluate, parse

COLUMNS = {
    "host": pa.array(["A.example", "b.Example", None, "ÄÖ"]),
    "path": pa.array(["/x", None, "/y", "/é/zz"]),
    "odd name": pa.array(["1", "2", "3", "4"]),
}


def texts(expression: str) -> list[str | None]:
    return evaluate(parse(expression), COLUMNS, 4).to_pylist()


def test_a_bare_name_is_a_column():
    assert parse("host") == ColumnName("host")
    assert texts("host") == ["A.example", "b.Example", None, "ÄÖ"]


@pytest.mark.parametrize("name", ["PM2.5", "user-agent", "odd name", "2nd", "größe", "a:b"])
def test_a_text_without_symbols_is_a_column_name_as_it_stands(name):
    assert parse(f" {name} ") == ColumnName(name)


def test_concat_joins_and_is_missing_where_a_part_is():
    assert texts("concat(host, ' > ', path)") == ["A.example > /x", None, None, "ÄÖ > /é/zz"]


def test_coalesce_is_the_first_part_that_is_there():
    assert texts("coalesce(path, host, 'none')") == ["/x", "b.Example", "/y", "/é/zz"]
    assert texts("concat(coalesce(host, ''), coalesce(path, ''))") == [
        "A.example/x",
        "b.Example",
        "/y",
        "ÄÖ/é/zz",
    ]


def test_lower_and_upper_turn_ascii_letters_only():
    assert texts("lower(host)") == ["a.example", "b.example", None, "ÄÖ"]
    assert texts("upper(host)") == ["A.EXAMPLE", "B.EXAMPLE", None, "ÄÖ"]


def test_prefix_counts_code_points():
    assert texts("prefix(path, 3)") == ["/x", None, "/y", "/é/"]
    assert evaluate(parse("prefix(a, 2)"), {"a": pa.array(["😀😀😀", "é"])}, 2).to_pylist() == ["😀😀", "é"]


def test_length_counts_code_points_in_digits():
    assert texts("length(path)") == ["2", None, "2", "5"]
    assert texts("concat(length(host), 'x')") == ["9x", "9x", None, "2x"]


def test_quotes_and_backquotes_are_doubled_where_they_are_meant():
    assert parse("'it''s'") == Text("it's")
    assert parse("`a``b`") == ColumnName("a`b")
    assert texts("concat(`odd name`, ',(''')") == ["1,('", "2,('", "3,('", "4,('"]


def test_an_expression_names_the_columns_it_needs():
    assert parse("concat(host, lower(`odd name`), 'x', coalesce(path, host))").columns == {
        "host",
        "odd name",
        "path",
    }
    assert parse("'all'").columns == frozenset()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("concat(a", r"position 9 of .*ends where '\)' to end concat"),
        ("concat(a,, b)", "position 10 of .*found ','"),
        ("concat(a) b", "position 11 of .*found 'b' where the expression should end"),
        ("conact(a, b)", "position 1 of .*unknown function 'conact'; did you mean 'concat'"),
        ("lower(a, b)", r"position 8 of .*found ',' where '\)' to end lower"),
        ("prefix(a)", r"position 9 of .*found '\)' where ',' should be"),
        ("prefix(a, 0)", "position 11 of .*from 1 to 999999"),
        ("prefix(a, b)", "position 11 of .*from 1 to 999999"),
        ("concat(a, 'b)", "position 11 of .*' is opened and never closed"),
        ("concat(`a, b)", "position 8 of .*` is opened and never closed"),
        ("concat(a-b)", "position 9 of .*'-' is not understood"),
        ("concat(1)", "position 8 of .*found '1'"),
        ("", "cannot be empty"),
        ("(" * 5, r"position 1 of .*found '\('"),
        ("x" * 2001, "2001 characters"),
    ],
)
def test_a_fault_names_its_position(text, fault):
    with pytest.raises(ValueError, match=fault):
        parse(text)


def test_nesting_is_bounded():
    parse("lower(" * DEEPEST_NESTING + "a" + ")" * DEEPEST_NESTING)
    with pytest.raises(ValueError, match="nested deeper"):
        parse("lower(" * (DEEPEST_NESTING + 1) + "a" + ")" * (DEEPEST_NESTING + 1))


names = st.text(min_size=1, max_size=8).filter(lambda text: text.strip() == text)
leaves = st.builds(ColumnName, names) | st.builds(Text, st.text(max_size=8))


def calls(parts):
    several = st.lists(parts, min_size=1, max_size=3).map(tuple)
    return (
        st.builds(Call, st.sampled_from(["concat", "coalesce"]), several)
        | st.builds(Call, st.sampled_from(["lower", "upper"]), st.tuples(parts))
        | st.builds(Call, st.just("prefix"), st.tuples(parts), st.integers(1, 999))
    )


@given(st.recursive(leaves, calls, max_leaves=6))
def test_what_is_written_reads_back_as_the_same(expression):
    assert parse(str(expression)) == expression


@given(st.text(max_size=40) | st.text("abc(),'` 12" + "".join(FUNCTIONS), max_size=40))
def test_any_text_is_an_expression_that_reads_back_or_a_value_error(text):
    try:
        expression = parse(text)
    except ValueError:
        return
    assert parse(str(expression)) == expression
