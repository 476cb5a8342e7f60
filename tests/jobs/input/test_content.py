"""The content of a text file: its digest, what it begins with, and where a record that is not finished starts."""

from __future__ import annotations

import gzip
import hashlib

import pytest

from jobs.input import content
from jobs.input.content import Start, take
from jobs.input.reading import read
from monitoring_lib.errors import DataError

from .conftest import make_source

HEAD = "time,site,item,value\n"
LINES = "".join(f"2001-01-01,s,i{number},{number}\n" for number in range(9))


def start_of(text: str, records: int = 1) -> Start:
    return Start(hashlib.sha256(text.encode()).hexdigest(), len(text.encode()), records)


def test_packed_and_plain_content_have_the_same_digest(tmp_path):
    (tmp_path / "a.csv").write_text(HEAD + LINES)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((HEAD + LINES).encode()))
    found = [take(str(tmp_path / name)) for name in ("a.csv", "a.csv.gz")]
    assert {one.digest for one in found} == {start_of(HEAD + LINES).digest}
    assert {one.unpacked for one in found} == {len(HEAD + LINES)}
    assert found[1].stream().read() == (HEAD + LINES).encode()


@pytest.mark.parametrize("chunk", [1, 7, 64, 1 << 20])
@pytest.mark.parametrize("grows", [False, True])
def test_the_longest_landed_content_that_it_begins_with_is_found_wherever_pieces_end(
    tmp_path, monkeypatch, chunk, grows
):
    monkeypatch.setattr(content, "CHUNK", chunk)
    (tmp_path / "a.csv").write_text(HEAD + LINES)
    whole = (HEAD + LINES).splitlines(keepends=True)
    starts = [start_of("".join(whole[:count]), count - 1) for count in (2, 4)]
    other = Start("0" * 64, starts[1].unpacked, 5)
    taken = take(str(tmp_path / "a.csv"), [other, *starts], grows=grows)
    assert taken.begins == starts[1]
    assert taken.digest == start_of(HEAD + LINES).digest
    assert taken.stream().read() == "".join(whole[4:] if grows else whole).encode()


def test_content_that_ended_within_a_record_is_no_beginning(tmp_path):
    (tmp_path / "a.csv").write_text(HEAD + "2001-01-01,s,item,1\n")
    assert take(str(tmp_path / "a.csv"), [start_of(HEAD + "2001-01-01,s,it")]).begins is None


def test_the_whole_is_not_its_own_beginning(tmp_path):
    (tmp_path / "a.csv").write_text(HEAD + LINES)
    assert take(str(tmp_path / "a.csv"), [start_of(HEAD + LINES)]).begins is None


@pytest.mark.parametrize("chunk", [1, 5, 1 << 20])
@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("a,b\nc,d\n", "a,b\nc,d\n"),
        ("a,b\nc,d", "a,b\n"),
        ('a,b\nc,"d\ne', "a,b\n"),
        ('a,b\nc,"d\ne"\nf', 'a,b\nc,"d\ne"\n'),
        ("a", ""),
        ("", ""),
    ],
)
def test_a_file_that_grows_is_known_up_to_its_last_whole_record(tmp_path, monkeypatch, chunk, text, whole):
    monkeypatch.setattr(content, "CHUNK", chunk)
    (tmp_path / "a.csv").write_text(text)
    taken = take(str(tmp_path / "a.csv"), grows=True, quoted=True)
    assert (taken.unpacked, taken.waiting) == (len(whole), len(text) - len(whole))
    assert taken.digest == hashlib.sha256(whole.encode()).hexdigest()
    assert taken.stream().read() == whole.encode()


def test_rows_behind_landed_content_are_read_with_the_header_before_it(tmp_path):
    (tmp_path / "a.csv").write_text(HEAD + LINES)
    begins = HEAD + "".join(LINES.splitlines(keepends=True)[:6])
    taken = take(str(tmp_path / "a.csv"), [start_of(begins, 6)], grows=True, quoted=True)
    rows = [row for batch in read(str(tmp_path / "a.csv"), make_source(), taken=taken) for row in batch.to_pylist()]
    assert [(row["line"], row["item"], row["value"]) for row in rows] == [(1, "i6", 6), (2, "i7", 7), (3, "i8", 8)]


def test_a_truncated_archive_is_known_before_its_first_row(tmp_path):
    whole = gzip.compress((HEAD + LINES * 1_000).encode())
    (tmp_path / "a.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="is truncated"):
        take(str(tmp_path / "a.csv.gz"))
