"""CSV as it comes: quotes, newlines, byte order marks, broken rows, bytes that are no text."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.input.reading import csv_files
from monitoring_lib.errors import DataError

HEADER = "time,site,item,value\n"
GOOD = "2001-01-01T00:01,LAS,PHL,33\n"


def test_a_clean_row_becomes_time_site_item_and_value(rows):
    (row,) = rows(HEADER + GOOD)
    assert row == {
        "line": 1, "time": datetime(2001, 1, 1, 0, 1, tzinfo=UTC), "site": "LAS", "item": "PHL", "value": 33,
        "fields": None, "values": None, "fault": None, "fault_kind": None, "fault_value": None, "raw": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ('"a\nb"', "a\nb"),
        ('"a\r\nb"', "a\r\nb"),
        ('"say ""hi"", you"', 'say "hi", you'),
        ("'; DROP TABLE x; --", "'; DROP TABLE x; --"),
        ('ab"c', 'ab"c'),
        ("東京/№ 2 😀", "東京/№ 2 😀"),
        ("x" * 10_000, "x" * 10_000),
        (" padded ", " padded "),
        ("\U0010ff80\U0010ffff\ufeff", "\U0010ff80\U0010ffff\ufeff"),
        ("NULL", "NULL"),
        ("nan", "nan"),
    ],
)
def test_an_item_is_kept_as_it_is(rows, text, item):
    found = rows(f"{HEADER}2001-01-01,s,{text},1\n{GOOD}")
    assert [row["item"] for row in found] == [item, "PHL"]
    assert [row["fault"] for row in found] == [None, None]


def test_crlf_a_byte_order_mark_and_blank_lines_are_nothing_special(rows):
    text = "\ufeff\r\n" + (HEADER + "\n" + GOOD + "\n\n" + GOOD).replace("\n", "\r\n")
    found = rows(text)
    assert [(row["line"], row["value"], row["fault"]) for row in found] == [(1, 33, None), (2, 33, None)]


def test_a_last_line_without_an_end_counts(rows):
    assert len(rows(HEADER + GOOD + GOOD.strip())) == 2


def test_too_few_and_too_many_fields_are_faults_with_the_row_as_it_was(rows):
    found = rows(HEADER + GOOD + "2001-01-01,s\n" + GOOD + '2001-01-01,s,"i,j",1,extra\n')
    assert [row["line"] for row in found] == [1, 2, 3, 4]
    assert [row["fault"] for row in found] == [
        None,
        "2 fields where 4 should be",
        None,
        "5 fields where 4 should be",
    ]
    assert [row["raw"] for row in found] == [None, "2001-01-01,s", None, '2001-01-01,s,"i,j",1,extra']
    assert found[1]["time"] is None


def test_every_record_gives_one_row_whatever_the_block_it_lies_in(rows, monkeypatch):
    monkeypatch.setattr(csv_files, "LONGEST_RECORD", 5_000)
    lines = [GOOD if number % 7 else "broken\n" for number in range(2_000)]
    found = rows(HEADER + "".join(lines))
    assert [row["line"] for row in found] == list(range(1, 2_001))
    assert [row["fault"] is None for row in found] == [bool(number % 7) for number in range(2_000)]


def test_bytes_that_are_not_utf8_make_a_row_faulty_not_the_file(rows):
    found = rows(HEADER.encode() + GOOD.encode() + b"2001-01-01,s,caf\xe9,1\n2001-01-01,\xff\n" + GOOD.encode())
    assert [row["fault"] for row in found] == [None, "item is not UTF-8", "2 fields where 4 should be", None]
    assert found[1]["raw"] == "2001-01-01,s,caf\\xe9,1"
    assert found[2]["raw"] == "2001-01-01,\\xff"


def test_faults_of_one_row_name_the_first_thing_wrong_and_keep_the_raw_text(rows):
    found = rows(HEADER + "yesterday,,i,1\n" + '2001-01-01,s,"a,""b""",many\n' + "2001-01-01,s,,1\n")
    assert [row["fault"] for row in found] == ["site is empty", "value 'many' is no number", "item is empty"]
    assert found[1]["raw"] == '2001-01-01,s,"a,""b""",many'
    assert all(row["time"] is None for row in found)


def test_an_empty_value_is_missing_not_wrong(rows):
    (row,) = rows(HEADER + "2001-01-01,s,i,\n")
    assert (row["value"], row["fault"]) == (None, None)


def test_raw_text_is_cut(rows):
    (row,) = rows(HEADER + f"never,s,{'x' * 50_000},1\n")
    assert len(row["raw"]) == 10_000
    assert row["fault"] == "time 'never' is neither ISO 8601 nor seconds since 1970"


def test_columns_are_mapped_and_others_carried_as_fields(rows):
    found = rows(
        "when;host;path;bytes;status;agent\n2001-01-01;A.example;/x;7;200;\n",
        columns={
            "time": "when", "site": "lower(host)", "item": "concat(host, path)", "value": "bytes",
            "status": "status", "agent": "agent", "kind": "'hit'",
        },
        csv={"delimiter": ";"},
    )  # fmt: skip
    assert (found[0]["site"], found[0]["item"], found[0]["value"]) == ("a.example", "A.example/x", 7)
    assert dict(found[0]["fields"]) == {"agent": None, "kind": "hit", "status": "200"}


def test_a_source_without_site_item_or_value_has_none(rows):
    (row,) = rows("time\n2001-01-01\n", columns={"time": "time"})
    assert (row["site"], row["item"], row["value"], row["fields"], row["fault"]) == (None,) * 5


def test_a_file_without_a_header_needs_its_names(rows):
    found = rows(GOOD + GOOD, csv={"header": ["time", "site", "item", "value"]})
    assert [row["line"] for row in found] == [1, 2]
    assert found[0]["site"] == "LAS"


@pytest.mark.parametrize("content", ["", "\ufeff", HEADER, HEADER.strip(), HEADER + "\n\n\r\n"])
def test_a_file_without_records_has_no_rows(rows, content):
    columns = {"time": "time"} if content.strip("\ufeff") else None
    assert rows(content, **({"columns": columns} if columns else {})) == []


def test_a_wrong_column_names_what_there_is(rows):
    with pytest.raises(
        DataError, match=r"file\.csv: has no column 'value'; did you mean 'values'\?; its columns: time"
    ):
        rows("time,site,item,values\n1,a,b,2\n")


def test_a_column_named_twice_is_refused(rows):
    with pytest.raises(DataError, match="the header names 'site' twice"):
        rows("time,site,site,item,value\n1,a,b,c,2\n")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (bytes(range(256)) * 20, "is not UTF-8 text|control characters"),
        (b"\x1f\x8b\x08\x00rest", "is not text but gz"),
        (HEADER.encode("utf-16"), "is not UTF-8 text"),
        (b"PAR1\x15\x04", "is not text but parquet"),
    ],
)
def test_binary_junk_is_refused_whole(rows, content, fault):
    with pytest.raises(DataError, match=fault):
        rows(content)


def test_a_quote_that_never_closes_is_refused_whole_instead_of_swallowing_rows(rows):
    with pytest.raises(DataError, match="opens a quote that is never closed"):
        rows(HEADER + GOOD + '2001-01-01,s,i,"1\n' + GOOD * 20)
    with pytest.raises(DataError, match="a quote that is opened and never closed"):
        rows(HEADER + GOOD + '2001-01-01,s,i,"1\n' + GOOD * 300_000)


def test_batches_are_no_larger_than_asked(tmp_path):
    from jobs.input.reading import read

    from .conftest import make_source

    path = tmp_path / "many.csv"
    path.write_text(HEADER + GOOD * 1_000)
    assert [batch.num_rows for batch in read(str(path), make_source(), batch_rows=300)] == [
        300,
        300,
        300,
        100,
    ]


words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
@given(st.lists(st.tuples(words, words, st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=8))
def test_what_a_csv_writer_writes_is_read_back(rows, records):
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["time", "site", "item", "value"])
    for site, item, value in records:
        writer.writerow(["2001-01-01T00:00:00Z", site, item, value])
    found = rows(text.getvalue())
    assert [(row["site"], row["item"], row["value"]) for row in found] == records


LEFT_EARLY = """
import sys, time
from jobs.input.reading import read
from jobs.input.reading.utf8 import EscapedText
from tests.jobs.input.conftest import make_source

quick = EscapedText.read

def slow(self, size):
    time.sleep(0.3)
    return quick(self, size)

EscapedText.read = slow
for batch in read(sys.argv[1], make_source(), 10):
    break
"""


def test_a_file_that_is_left_early_does_not_abort_the_process(tmp_path, project):
    """Arrow reads ahead in a thread of its own, which must not be in the middle of Python when that ends."""
    (tmp_path / "file.csv").write_text("time,site,item,value\n" + "2001-01-01,s,i,1\n" * 400_000)
    command = [sys.executable, "-c", LEFT_EARLY, str(tmp_path / "file.csv")]
    ended = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")
