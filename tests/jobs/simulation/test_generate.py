"""Made-up traces: the same bytes for the same seed, and faults that are where the facts say."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from jobs.simulation.generate import GeneratedTrace, generate
from monitoring_lib.epochs import parse_duration, parse_time
from monitoring_lib.errors import UsageError

HOUR = parse_duration("1h")
START = "2026-03-01T12:00Z"


def rows_of(trace: GeneratedTrace, name: str) -> list[list[str]]:
    with gzip.open(Path(trace.folder) / name, "rt", newline="") as file:
        return list(csv.reader(file))[1:]


def hour_of(time: str) -> int:
    return (parse_time(time) - parse_time(START)) // HOUR


def digests(trace: GeneratedTrace) -> dict[str, str]:
    folder = Path(trace.folder)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.gz"))}


def small(out: Path, kind: str = "cdn", **more: object) -> GeneratedTrace:
    given = {"seed": 7, "sites": 6, "hours": 4, "start": START, "events_per_hour": 1_500, "items": 200} | more
    return generate(kind, out, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["cdn", "walk"])
def test_equal_seeds_give_equal_bytes_and_other_seeds_others(tmp_path: Path, kind: str):
    one, same = small(tmp_path / "one", kind), small(tmp_path / "same", kind)
    other = small(tmp_path / "other", kind, seed=8)
    assert digests(one) == digests(same)
    assert not set(digests(one).values()) & set(digests(other).values())
    assert one.facts == same.facts


def test_every_row_is_of_its_files_site_and_hour_unless_the_facts_call_it_late(tmp_path: Path):
    trace = small(tmp_path / "t", late=0.05)
    late = {(fact.path, fact.site, fact.hour): fact.rows for fact in trace.facts.late}
    assert late
    for file in trace.files:
        found = rows_of(trace, file.path)
        assert len(found) == file.rows
        assert {row[1] for row in found} == {file.site}
        hours = Counter(hour_of(row[0]) for row in found)
        if file.repeats is None:
            for hour, count in hours.items():
                assert hour == file.hour or late.pop((file.path, file.site, hour)) == count
    assert not late


def test_an_outage_leaves_no_file_and_no_row_of_that_hour(tmp_path: Path):
    trace = small(tmp_path / "t", outages=3)
    assert len(trace.facts.outages) == 3
    out = {(outage.site, outage.hour) for outage in trace.facts.outages}
    assert all(hour > 0 for _, hour in out)
    written = {(file.site, file.hour) for file in trace.files}
    assert written == {(site, hour) for site in trace.sites for hour in range(4)} - out
    seen = {(row[1], hour_of(row[0])) for file in trace.files for row in rows_of(trace, file.path)}
    assert not seen & out


def test_a_duplicate_has_the_same_bytes_under_another_name(tmp_path: Path):
    trace = small(tmp_path / "t", duplicates=2)
    by_name = digests(trace)
    again = [file for file in trace.files if file.repeats is not None]
    assert len(again) == 2
    assert all(by_name[file.path] == by_name[str(file.repeats)] for file in again)
    assert trace.rows == sum(file.rows for file in trace.files) - sum(file.rows for file in again)


def test_corrupt_rows_are_as_many_as_the_facts_say(tmp_path: Path):
    trace = small(tmp_path / "t", corrupt=40, duplicates=0)
    assert sum(fact.rows for fact in trace.facts.corrupt) == 40
    broken: Counter[str] = Counter()
    ways = set()
    for file in trace.files:
        for row in rows_of(trace, file.path):
            faults = [len(row) != 4, row[0].startswith("31/"), row[1] == "", row[-1] == "many"]
            broken[file.path] += any(faults)
            ways |= {at for at, fault in enumerate(faults) if fault}
    assert +broken == {fact.path: fact.rows for fact in trace.facts.corrupt}
    assert ways == {0, 1, 2, 3}


def test_a_flash_crowd_is_in_its_item_and_its_minutes_only(tmp_path: Path):
    trace = small(tmp_path / "t", flash_crowds=1, events_per_hour=20_000, late=0, duplicates=0)
    crowd = trace.facts.flash_crowds[0]
    asked = [parse_time(row[0]) for file in trace.files for row in rows_of(trace, file.path) if row[2] == crowd.item]
    inside = sum(parse_time(crowd.start) <= time < parse_time(crowd.end) for time in asked)
    total = sum(file.rows for file in trace.files if file.hour == crowd.hour)
    assert inside > 0.8 * crowd.share / (1 + crowd.share) * total
    assert inside > 0.9 * len(asked)


def test_popularity_is_skewed_and_the_largest_site_dwarfs_the_smallest(tmp_path: Path):
    trace = small(tmp_path / "t", events_per_hour=20_000, sites=20)
    items = Counter(row[2] for file in trace.files for row in rows_of(trace, file.path))
    (_, top), *_ = items.most_common(1)
    assert top > 20 * sorted(items.values())[len(items) // 2]
    sites = Counter(dict.fromkeys(trace.sites, 0))
    for file in trace.files:
        sites[file.site] += file.rows
    assert max(sites.values()) > 5 * min(sites.values())


def test_no_site_name_is_in_a_file_name_and_odd_names_come_back_whole(tmp_path: Path):
    trace = small(tmp_path / "t", odd_names=True, sites=25, events_per_hour=30_000)
    odd = [site for site in trace.sites if not site.isalnum()]
    assert any('"' in site for site in odd)
    assert any(site.startswith("@") for site in odd)
    assert any(not site.isascii() for site in odd)
    assert not any(site in file.path for site in trace.sites for file in trace.files)
    items = {row[2] for file in trace.files for row in rows_of(trace, file.path)}
    assert any("\n" in item for item in items)
    assert any(len(item) == 10_000 for item in items)


def test_a_walk_goes_on_where_the_hour_before_ended(tmp_path: Path):
    trace = small(tmp_path / "t", "walk", events_per_hour=600, late=0, outages=1, duplicates=0)
    steps = []
    for site in trace.sites:
        rows = [row for file in trace.files if file.site == site for row in rows_of(trace, file.path)]
        assert rows == sorted(rows)
        values = [int(row[2]) for row in rows]
        inner = [abs(b - a) for a, b in pairwise(values)]
        steps.append(max(inner))
        missing = any(outage.site == site for outage in trace.facts.outages)
        assert missing or len(rows) == 400
    assert len(set(steps)) > 1


def test_the_facts_lie_beside_the_files_under_a_name_that_no_reader_takes_for_data(tmp_path: Path):
    trace = small(tmp_path / "t")
    facts = json.loads((tmp_path / "t" / "_facts.json").read_text("utf-8"))
    assert facts["rows"] == trace.rows
    assert [file["path"] for file in facts["files"]] == [file.path for file in trace.files]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kind": "cnd"}, "choose one of cdn, walk"),
        ({"sites": 0}, "--sites 0"),
        ({"hours": -1}, "--hours -1"),
        ({"late": 1.5}, "--late 1.5"),
        ({"seed": -1}, "--seed -1"),
        ({"start": "yesterday"}, "ISO 8601"),
        ({"start": "2026-01-01T00:30Z"}, "on the hour, such as 2026-01-01"),
    ],
)
def test_a_wrong_argument_is_named(tmp_path: Path, wrong: dict[str, object], message: str):
    with pytest.raises(UsageError, match=message):
        small(tmp_path / "t", **wrong)


def test_a_folder_with_something_in_it_is_not_written_to(tmp_path: Path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="not an empty folder"):
        small(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
