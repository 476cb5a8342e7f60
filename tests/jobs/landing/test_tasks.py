"""What the tasks make of files, without Spark: rows, and a report for each file."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from jobs.input import files
from jobs.input.content import Start
from jobs.landing.decisions import Report
from jobs.landing.filing import AcceptedTimes
from jobs.landing.tasks import REPORT, LandFiles, report_of
from monitoring_lib.config import parse_source
from monitoring_lib.epochs import parse_time

HEAD = "time,site,item\n"
ROWS = "2020-01-01T00:00:01Z,s,a\n2020-01-01T01:00:00Z,s,b\n"
HOUR = 3_600_000_000
ORIGIN = parse_time("2020-01-01")


def source(**keys: Any) -> Any:
    whole = {"name": "shop", "format": "csv", "path": "x", "epoch": "1h", "origin": "2020-01-01"}
    columns = {"time": "time", "site": "site", "item": "item"}
    return parse_source(whole | {"columns": columns} | keys, "test")


def landed(task: LandFiles, *paths: Path, again: bool = False) -> tuple[list[Any], list[Report]]:
    found = [file for path in paths for file in files.find(str(path), path.parent)]
    columns: list[Any] = [list(range(len(found)))]
    columns += [[getattr(file, name) for file in found] for name in ("path", "size", "modified")]
    columns += [[again] * len(found)]
    batch = pa.RecordBatch.from_arrays([pa.array(cells) for cells in columns], names=list("npsma"))
    rows = [row for made in task(iter([batch])) for row in made.to_pylist()]
    return [row for row in rows if row["line"] != REPORT], [
        report_of(row["raw"]) for row in rows if row["line"] == REPORT
    ]


def task(landed: frozenset[str] = frozenset(), starts: Any = (), mode: Any = "refuse", **keys: Any) -> LandFiles:
    return LandFiles(source(**keys), AcceptedTimes(None, ORIGIN + 100 * HOUR), landed, starts, mode)


def test_every_record_is_filed_and_the_report_counts_them(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((HEAD + ROWS + "2019-01-01,s,c\nodd\n,s,d\n").encode()))
    rows, [report] = landed(task(), tmp_path / "a.csv.gz")
    assert [row["line"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["reason"] is None for row in rows] == [True, True, False, False, False]
    assert report.epochs == {ORIGIN: 1, ORIGIN + HOUR: 1}
    assert sum(report.faults.values()) == 3
    assert report.records == 5
    assert {row["digest"] for row in rows} == {report.digest} == {files.digest(str(tmp_path / "a.csv.gz"))}
    assert [row["path"] is None for row in rows] == [True, True, False, False, False]


def test_content_that_has_landed_gives_no_row_unless_it_is_read_again(tmp_path):
    (tmp_path / "a.csv").write_text(HEAD + ROWS)
    known = task(frozenset([files.digest(str(tmp_path / "a.csv"))]))
    assert landed(known, tmp_path / "a.csv")[0] == []
    assert len(landed(known, tmp_path / "a.csv", again=True)[0]) == 2


def test_what_follows_landed_content_keeps_counting_its_lines(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(HEAD + ROWS)
    start = Start(files.digest(str(path)), len(HEAD + ROWS), 2)
    path.write_text(HEAD + ROWS + "2020-01-01T02:00:00Z,s,c\n2020-01-01T02:0")
    rows, [report] = landed(task(starts=[start], mode="append"), path)
    assert [(row["line"], row["item"]) for row in rows] == [(3, "c")]
    assert (report.begins, report.records, report.waiting) == (start.digest, 3, 15)
    rows, [report] = landed(task(starts=[start], mode="replace"), path)
    assert [row["line"] for row in rows] == [1, 2, 3, 4]
    assert report.begins == start.digest


@pytest.mark.parametrize(
    "content",
    [b"tiem,site,item\n", gzip.compress(b"x" * 9_999, mtime=0)[:-9], bytes(range(256)) * 9],
    ids=["another header", "cut off", "binary"],
)
def test_a_file_that_cannot_land_is_a_report_with_its_fault(tmp_path, content):
    (tmp_path / "a.csv").write_bytes(content)
    (tmp_path / "b.csv").write_text(HEAD + ROWS)
    rows, reports = landed(task(), tmp_path / "a.csv", tmp_path / "b.csv")
    assert len(rows) == 2
    assert [bool(report.fault) for report in reports] == [True, False]
