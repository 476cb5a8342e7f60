"""Further values of a row, and rows whose columns are events of their own."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyarrow import parquet

from jobs.input.reading import wide_rows
from monitoring_lib.epochs import parse_time
from monitoring_lib.errors import DataError

from .conftest import table_of

MINUTE = 60_000_000
PLAIN = {"time": "time", "site": "site"}


def moment(row):
    return round((row["time"].timestamp() - parse_time("2001-01-01") / 1e6) * 1e6)


def test_further_values_are_whole_numbers_by_name(rows):
    found = rows(
        "time,site,PM2.5,WSPM\n2001-01-01,a,4.5,1.75\n2001-01-01,b,,2\n",
        columns=PLAIN,
        scale=10,
        values={"pm25": "PM2.5", "wind": {"column": "WSPM", "scale": 100}},
    )
    assert [dict(row["values"]) for row in found] == [{"pm25": 45, "wind": 175}, {"pm25": None, "wind": 200}]
    assert [row["value"] for row in found] == [None, None]


@pytest.mark.parametrize("value", ["nan", "inf", "-Infinity", "1.25", "x"])
def test_a_further_value_that_is_none_makes_its_row_faulty(rows, value):
    text = f"time,site,v\n2001-01-01,a,{value}\n2001-01-01,b,1\n"
    bad, good = rows(text, columns=PLAIN, values={"wind": "v"})
    assert bad["fault"].startswith(f"wind {value!r} is no number" if value != "1.25" else "wind 1.25 needs scale 100")
    assert bad["raw"] == f"2001-01-01,a,{value}"
    assert good["fault"] is None


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_doubles_that_are_no_numbers_are_faults_too(tmp_path, value):
    path = tmp_path / "f.parquet"
    parquet.write_table(pa.table({"time": ["2001-01-01"], "site": ["a"], "v": [value]}), path)
    [row] = table_of(path, format="parquet", columns={**PLAIN, "value": "v"}, values={"w": "v"}).to_pylist()
    assert "is no number" in row["fault"]


def test_each_column_of_a_wide_row_is_an_event_a_step_later(rows):
    found = rows(
        "time,site,unit,c0,c1,c2\n2001-01-01,a,%,1.5,,2.5\n2001-01-01T01:00,b,%,7,8,9\n",
        columns={**PLAIN, "unit": "unit"},
        unpivot={"columns": "c0..c2", "step": "5m", "name": "slot"},
        scale=10,
    )
    assert [(row["site"], moment(row) // MINUTE, row["value"], dict(row["fields"])["slot"]) for row in found] == [
        ("a", 0, 15, "0"), ("a", 10, 25, "2"), ("b", 60, 70, "0"), ("b", 65, 80, "1"), ("b", 70, 90, "2"),
    ]  # fmt: skip
    assert [row["line"] for row in found] == [3, 5, 6, 7, 8]
    assert {dict(row["fields"])["unit"] for row in found} == {"%"}


def test_the_step_is_by_default_the_tick(rows):
    found = rows("time,site,a,b\n2001-01-01,s,1,2\n", columns=PLAIN, unpivot=["b", "a"], tick="10m")
    assert [(moment(row) // MINUTE, row["value"]) for row in found] == [(0, 2), (10, 1)]


def test_a_faulty_cell_is_set_aside_alone_and_a_faulty_record_once(rows):
    text = "time,site,c0,c1\n2001-01-01,a,x,1\nnever,b,1,2\n2001-01-01,c,1\n2001-01-01,d,3,4\n"
    found = rows(text, columns=PLAIN, unpivot="c0..c1")
    assert [(row["line"], row["site"], row["value"], row["fault"] is None) for row in found] == [
        (2, "a", None, False), (3, "a", 1, True), (4, "b", 1, False), (6, None, None, False), (8, "d", 3, True),
        (9, "d", 4, True),
    ]  # fmt: skip
    assert found[0]["fault"] == "c0 'x' is no number"
    assert found[2]["raw"] == "never,b,1,2"
    assert [row["time"] for row in found if row["fault"]] == [None] * 3


def test_a_wide_file_may_be_taken_apart_in_pieces(rows, monkeypatch):
    text = "time,site,c0,c1\n" + "".join(f"2001-01-01,s{n},{n},{'x' if n == 7 else n}\n" for n in range(20))
    whole = rows(text, columns=PLAIN, unpivot="c0..c1")
    monkeypatch.setattr(wide_rows, "MOST_CELLS", 6)
    assert rows(text, columns=PLAIN, unpivot="c0..c1") == whole
    assert len({row["line"] for row in whole}) == len(whole) == 40


def test_a_column_that_is_not_there_is_named(rows):
    with pytest.raises(DataError, match="has no column 'c2'"):
        rows("time,site,c0,c1\n2001-01-01,a,1,2\n", columns=PLAIN, unpivot="c0..c2")
