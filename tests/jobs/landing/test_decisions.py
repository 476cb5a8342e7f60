"""What becomes of a file: each way in which files of real deployments come, move, grow and change."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from jobs.landing.decisions import FileDecision, Mode, Report, decide_files
from jobs.landing.known import How, Known, LandedFile
from monitoring_lib.config import parse_source

SOURCE = parse_source(
    {
        "name": "shop", "format": "csv", "path": "x", "columns": {"time": "t", "site": "s"}, "epoch": "1h",
        "origin": "2020-01-01",
    },
    "test",
)  # fmt: skip


def report(path: str, digest: str, begins: str = "") -> Report:
    return Report(path, digest, len(digest), 1, begins, epochs={0: 1})


def known_of(**paths: str) -> Known:
    """One landing of new files: name to content."""
    known = Known()
    known.add([landing(path, digest) for path, digest in paths.items()])
    return known


def landing(path: str, digest: str, how: How = How.NEW, begins: str = "", write: str = "w1") -> LandedFile:
    return LandedFile(path, digest, how, write, begins, records=1, epochs={0: 1})


def decided(
    known: Known, reports: Iterable[Report], mode: Mode = "refuse", there: Iterable[str] = ()
) -> dict[str, str]:
    """By path how it lands, or `refused`."""
    given = list(reports)
    found = decide_files(SOURCE, known, given, {*there, *(one.path for one in given)}, mode)
    return {path: one.how.value if one.how else "refused" for path, one in found.items()}


def test_a_new_file_lands_and_the_same_content_twice_lands_once():
    assert decided(Known(), [report("b", "X"), report("a", "X")]) == {"a": "new", "b": "same"}


def test_packed_by_gzip_it_brings_nothing():
    assert decided(known_of(a="X"), [report("a.gz", "X")]) == {"a.gz": "same"}


@pytest.mark.parametrize(("mode", "how"), [("refuse", "refused"), ("replace", "replaced"), ("append", "refused")])
def test_a_changed_file_is_refused_or_replaces_what_it_brought(mode, how):
    assert decided(known_of(a="X"), [report("a", "Y")], mode) == {"a": how}


@pytest.mark.parametrize("mode", ["refuse", "replace", "append"])
def test_a_file_that_was_empty_or_a_header_alone_when_it_landed_is_new_once_it_has_records(mode):
    known = Known()
    known.add([LandedFile("a", "header", How.NEW, "w1", records=0)])
    assert decided(known, [report("a", "X")], mode) == {"a": "new"}
    assert known.add([landing("a", "X", write="w2")]) == []
    assert set(known.digests) == {"X"}


@pytest.mark.parametrize(("mode", "how"), [("refuse", "refused"), ("replace", "replaced"), ("append", "grown")])
def test_a_file_that_grew_brings_what_is_new_or_is_refused(mode, how):
    assert decided(known_of(a="X"), [report("a", "XY", "X")], mode) == {"a": how}


@pytest.mark.parametrize(("mode", "how"), [("refuse", "refused"), ("replace", "replaced"), ("append", "grown")])
def test_a_log_that_grew_before_it_was_rotated_is_not_counted_twice(mode, how):
    """`a` was landed, grew, and became `a.1`; in its place stands a new log."""
    found = decided(known_of(a="X"), [report("a", "Z"), report("a.1", "XY", "X")], mode)
    assert found["a.1"] == how
    assert found["a"] == "new"


def test_rotated_logs_are_no_changed_files_in_any_mode():
    known = known_of(a="3", **{"a.1": "2", "a.2": "1"})
    for mode in ("refuse", "replace", "append"):
        reports = [report("a", "4"), report("a.1", "3"), report("a.2", "2"), report("a.3.gz", "1")]
        assert decided(known, reports, mode) == {"a": "new", "a.1": "same", "a.2": "same", "a.3.gz": "same"}


def test_two_copies_that_are_corrected_together_are_changed_files():
    known = Known()
    known.add([landing("a", "X"), landing("b", "X", How.SAME)])
    assert decided(known, [report("a", "Y"), report("b", "Y")], "replace") == {"a": "replaced", "b": "replaced"}
    assert decided(known, [report("a", "Y"), report("b", "Y")]) == {"a": "refused", "b": "refused"}


def test_a_copy_that_is_still_there_keeps_its_rows():
    known = Known()
    known.add([landing("a", "X"), landing("b", "X", How.SAME)])
    assert decided(known, [report("a", "Y")], "replace", there=["b"]) == {"a": "new"}
    assert known.add([landing("a", "Y", write="w2")]) == []


def test_a_file_without_a_good_row_is_refused():
    hopeless = Report("a", "X", 1, 3, faults={"time is odd": 2, "item is empty": 1})
    [found] = decide_files(SOURCE, Known(), [hopeless], {"a"}, "refuse").values()
    assert found.how is None
    assert "none of its rows (3) could become an event; most often: time is odd" in found.reason


def test_the_reason_prints_the_command_that_is_right_for_the_file():
    [grown] = decide_files(SOURCE, known_of(a="X"), [report("a", "XY", "X")], {"a"}, "refuse").values()
    assert "`farwatch land --source shop --changed append`" in grown.reason
    assert "replace" not in grown.reason
    [other] = decide_files(SOURCE, known_of(a="X"), [report("a", "Y")], {"a"}, "refuse").values()
    assert "`farwatch land --source shop --changed replace`" in other.reason
    assert "--changed append" not in other.reason


def test_rows_that_are_replaced_no_longer_count_and_may_come_back():
    known = known_of(a="X")
    [gone] = known.add([landing("a", "Y", How.REPLACED, write="w2")])
    assert (gone.digest, gone.write) == ("X", "w1")
    assert set(known.digests) == {"Y"}
    assert decided(known, [report("a", "X")], "replace") == {"a": "replaced"}
    assert known.add([landing("a", "X", How.REPLACED, write="w3")])[0].digest == "Y"
    assert [one.write for one in known.brought["X"]] == ["w3"]


def test_all_parts_of_a_file_that_grew_are_replaced_together():
    known = known_of(a="X")
    known.add([landing("a", "XY", How.GROWN, "X", "w2")])
    assert known.chains["a"] == ("X", "XY")
    assert decided(known, [report("b", "X")]) == {"b": "same"}
    gone = known.add([landing("a", "Z", How.REPLACED, write="w3")])
    assert [(one.digest, one.write) for one in gone] == [("X", "w1"), ("XY", "w2")]


def test_a_longer_file_under_another_name_replaces_the_shorter_one():
    known = known_of(a="X")
    [decision] = decide_files(SOURCE, known, [report("b", "XY", "X")], {"b"}, "replace").values()
    assert decision == FileDecision(How.REPLACED)
    assert [one.digest for one in known.add([landing("b", "XY", How.REPLACED, "X", "w2")])] == ["X"]
    assert set(known.digests) == {"XY"}


def test_only_content_that_is_no_longer_in_its_place_can_be_gone_on_from():
    known = known_of(a="X", b="Y")
    assert [one.digest for one in known.starts(unchanged={"b"})] == ["X"]


def test_set_aside_rows_wait_until_they_were_read_again():
    known = Known()
    known.add([LandedFile("a", "X", How.NEW, "w1", records=3, quarantined=2, epochs={0: 1})])
    assert list(known.aside) == ["X"]
    known.add([LandedFile("a", "X", How.AGAIN, "w2", records=3, quarantined=0, epochs={0: 2})])
    assert not known.aside
    assert [one.write for one in known.brought["X"]] == ["w1", "w2"]
