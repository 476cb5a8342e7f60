"""JSON lines."""

from __future__ import annotations

import json

import pytest

from monitoring_lib.errors import DataError

GOOD = {"time": "2001-01-01", "site": "s", "item": "i", "value": 1}


def line(**changes):
    return json.dumps(GOOD | changes, ensure_ascii=False) + "\n"


def read(rows, text, **keys):
    return rows(text, "file.json", format="json", **keys)


def test_an_object_a_line_gives_a_row_each(rows):
    found = read(rows, line() + "\n" + line(item="東\n京", value=-7) + "\r\n" + line(site='"quoted"').strip())
    assert [(row["line"], row["site"], row["item"], row["value"]) for row in found] == [
        (1, "s", "i", 1), (2, "s", "東\n京", -7), (3, '"quoted"', "i", 1),
    ]  # fmt: skip


def test_numbers_are_not_rounded_on_the_way(rows):
    text = '{"time": 1521911720.865716, "site": 10.50, "item": 12345678901234567890123, "value": 6.95}\n'
    (row,) = read(rows, text, scale=100)
    assert row["time"].timestamp() == 1521911720.865716
    assert (row["site"], row["item"], row["value"]) == ("10.50", "12345678901234567890123", 695)


def test_a_missing_key_and_a_null_are_the_same(rows):
    found = read(rows, line(value=None) + '{"time": "2001-01-01", "site": "s", "item": "i"}\n' + line(item=None))
    assert [(row["value"], row["fault"]) for row in found] == [
        (None, None),
        (None, None),
        (1, "item is empty"),
    ]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ('{"time": ', "the line is not JSON: Expecting value at character 10"),
        ("[1, 2]", "the line is JSON but no object"),
        ("[" * 100_000, "the line is nested too deep"),
        (json.dumps(GOOD | {"item": {"a": 1}}), "item is an object, not a plain value"),
        (json.dumps(GOOD | {"item": [1]}), "item is a list, not a plain value"),
        (
            '{"time": "2001-01-01", "site": "s", "item": "\\ud800", "value": 1}',
            "item holds half of a surrogate pair",
        ),
        (json.dumps(GOOD | {"value": float("nan")}), "value 'NaN' is no number"),
        (json.dumps(GOOD | {"value": float("inf")}), "value 'Infinity' is no number"),
    ],
)
def test_a_broken_line_is_a_fault_of_its_row_alone(rows, bad, reason):
    found = read(rows, line() + bad + "\n" + line())
    assert [row["fault"] for row in found] == [None, reason, None]
    assert found[1]["raw"] == bad[:10_000]


def test_bytes_that_are_not_utf8_are_a_fault_of_their_row(rows):
    found = read(rows, line().encode() + b'{"item": "\xff"}\n' + line().encode())
    assert [row["fault"] for row in found] == [None, "the line is not UTF-8", None]
    assert found[1]["raw"] == '{"item": "\\xff"}'


def test_booleans_are_texts(rows):
    (row,) = read(rows, line(item=True))
    assert row["item"] == "true"


def test_other_columns_are_carried(rows):
    (row,) = read(rows, line(host="h", n=3), columns={"time": "time", "host": "host", "n": "n", "m": "m"})
    assert dict(row["fields"]) == {"host": "h", "n": "3", "m": None}


@pytest.mark.parametrize("text", ["[\n" + line() + "]", '{\n  "time": 1\n}\n'])
def test_one_value_over_many_lines_is_refused_whole(rows, text):
    with pytest.raises(DataError, match="write one object a line"):
        read(rows, text)


def test_an_empty_file_has_no_rows(rows):
    assert read(rows, "") == []
    assert read(rows, "\n\n") == []


def test_binary_junk_is_refused_whole(rows):
    with pytest.raises(DataError, match="is not UTF-8 text"):
        read(rows, bytes(range(128, 256)) + b"\n")
