"""Input checks: each kept and broken, with its severity; a range at once equals its epochs one by one."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from jobs.quality import check_sites, history_epochs, statistics_schema
from jobs.quality.findings import Finding
from monitoring_lib.config import Source
from monitoring_lib.epochs import parse_duration, parse_time

HOUR = parse_duration("1h")
ORIGIN = parse_time("2026-03-01")
HISTORY = pa.schema(
    [
        pa.field("epoch_start", pa.timestamp("us", "UTC")),
        pa.field("site", pa.string()),
        pa.field("events", pa.int64()),
    ]
)
ODD_NAMES = ['it\'s "here"', "line\nbreak", "Zürich/東京 🛰", "$HOME", "'; DROP TABLE events; --", " ", "\x00"]


def source(sites: list[str] | None = None, scale: int = 1, **quality: Any) -> Source:
    return Source.model_validate(
        {
            "name": "cdn", "format": "csv", "path": "*.csv", "epoch": "1h", "origin": "2026-03-01",
            "columns": {"time": "t", "site": "s", "item": "i", "value": "v", "$HOME": "h"},
            "scale": scale, "sites": sites, "quality": quality,
        }
    )  # fmt: skip


Cell = tuple[int, str]


def statistics_of(cells: dict[Cell, dict[str, Any]], asked: Source) -> pa.Table:
    nulls = sorted(asked.quality.nulls)
    empty = {"least": None, "most": None} | {f"no {name}": 0 for name in nulls}
    rows = [
        {"epoch_start": ORIGIN + epoch * HOUR, "site": site} | empty | told for (epoch, site), told in cells.items()
    ]
    return pa.Table.from_pylist(rows, statistics_schema(nulls))


def history_of(events: dict[Cell, int]) -> pa.Table:
    rows = [{"epoch_start": ORIGIN + at * HOUR, "site": site, "events": count} for (at, site), count in events.items()]
    return pa.Table.from_pylist(rows, HISTORY)


def check(
    asked: Source,
    cells: dict[Cell, int | dict[str, Any]],
    epochs: range,
    history: dict[Cell, int] | None = None,
    met: Collection[str] = (),
) -> list[Finding]:
    told = {cell: count if isinstance(count, dict) else {"events": count} for cell, count in cells.items()}
    starts = range(ORIGIN + epochs.start * HOUR, ORIGIN + epochs.stop * HOUR, HOUR)
    return check_sites(statistics_of(told, asked), history_of(history or {}), met, asked, starts)


def failures(findings: list[Finding]) -> dict[tuple[str, str, int], Finding]:
    """By check, site and epoch."""
    return {
        (finding.expectation, finding.site, (finding.epoch_start - ORIGIN) // HOUR): finding
        for finding in findings
        if finding.site
    }


def steady(site: str, epochs: range, events: int) -> dict[Cell, int]:
    return {(epoch, site): events for epoch in epochs}


def test_a_site_silent_for_longer_than_allowed_is_set_aside_and_comes_back_with_its_events() -> None:
    asked = source(freshness=2)
    cells: dict[Cell, Any] = {(epoch, "b"): 1 for epoch in range(5, 10)} | {(9, "a"): 4}
    failed = failures(check(asked, cells, range(5, 10), {(4, "a"): 7, (4, "b"): 7}, ["a", "b"]))
    assert list(failed) == [("freshness", "a", 7), ("freshness", "a", 8)]
    finding = failed["freshness", "a", 7]
    assert finding.sets_aside
    assert finding.detail == "no events in the last 3 epochs, where 2 may be silent"


def test_silence_is_counted_from_the_last_events_whenever_they_were() -> None:
    asked = source(freshness=2)
    one_silent_epoch = check(asked, {}, range(6, 7), {(4, "a"): 7}, ["a"])
    two_silent_epochs = check(asked, {}, range(6, 7), {(3, "a"): 7}, ["a"])
    assert not failures(one_silent_epoch)
    assert list(failures(two_silent_epochs)) == [("freshness", "a", 6)]


def test_a_listed_site_that_never_spoke_is_silent_since_the_origin() -> None:
    failed = failures(check(source(["a", "b"], freshness=1), {(0, "a"): 1, (1, "a"): 1, (2, "a"): 1}, range(3)))
    assert list(failed) == [("freshness", "b", 1), ("freshness", "b", 2)]


def test_a_site_first_seen_within_the_range_is_expected_from_then_on() -> None:
    failed = failures(check(source(freshness=0), {(1, "new"): 5}, range(3)))
    assert list(failed) == [("freshness", "new", 2)]


def test_volume_is_judged_against_the_median_of_the_sites_own_epochs() -> None:
    asked = source(volume={"least": 0.2, "most": 3, "history": 24})
    history = steady("a", range(24), 2_800) | steady("b", range(24), 10) | steady("c", range(24), 10)
    cells: dict[Cell, Any] = {(24, "a"): 312, (24, "b"): 2, (24, "c"): 31}
    findings = check(asked, cells, range(24, 25), history, "abc")
    failed = failures(findings)
    assert list(failed) == [("volume", "a", 24), ("volume", "c", 24)]
    low, high = failed.values()
    assert low.detail == "312 events where the median of 24 epochs is 2,800: below 0.2 of it"
    assert high.detail == "31 events where the median of 24 epochs is 10: above 3 times it"
    assert low.sets_aside
    whole = [finding for finding in findings if not finding.site]
    assert [(one.success, one.observed) for one in whole] == [(False, "2 of 3 sites failed")]


def test_volume_waits_for_three_epochs_with_events() -> None:
    asked = source(volume={"least": 0.5})
    silent_between = {(0, "a"): 100, (4, "a"): 100}
    assert not failures(check(asked, {(5, "a"): 1}, range(5, 6), silent_between, ["a"]))
    three = silent_between | {(3, "a"): 100}
    failed = failures(check(asked, {(5, "a"): 1}, range(5, 6), three, ["a"]))
    assert failed["volume", "a", 5].detail == "1 event where the median of 5 epochs is 100: below 0.5 of it"


def test_a_history_shorter_than_three_epochs_judges_with_what_it_has() -> None:
    asked = source(volume={"least": 0.5, "history": 1})
    assert failures(check(asked, {(5, "a"): 1}, range(5, 6), {(4, "a"): 100}, ["a"]))
    assert not failures(check(asked, {(5, "a"): 1}, range(5, 6), {(3, "a"): 100}, ["a"]))


def test_silent_epochs_count_as_none_in_the_median_and_a_median_of_none_is_not_judged() -> None:
    asked = source(volume={"least": 0, "most": 2})
    mostly_silent = {(0, "a"): 100, (1, "a"): 100, (2, "a"): 100}
    assert not failures(check(asked, {(7, "a"): 500}, range(7, 8), mostly_silent, ["a"]))
    half_silent = failures(check(asked, {(6, "a"): 500}, range(6, 7), mostly_silent, ["a"]))
    assert half_silent["volume", "a", 6].detail == "500 events where the median of 6 epochs is 50: above 2 times it"


def test_an_empty_epoch_is_too_small_a_volume_unless_freshness_allows_it() -> None:
    history = steady("a", range(5), 100)
    alone = check(source(volume={"least": 0.5}), {}, range(5, 6), history, ["a"])
    beside = check(source(volume={"least": 0.5}, freshness=1), {}, range(5, 6), history, ["a"])
    assert failures(alone)["volume", "a", 5].observed == "0 events"
    assert not failures(beside)


def test_epochs_earlier_in_the_range_are_history_too() -> None:
    cells: dict[Cell, Any] = {**steady("a", range(4), 100), (4, "a"): 10}
    assert list(failures(check(source(volume={"least": 0.5}), cells, range(5)))) == [("volume", "a", 4)]


def test_too_many_rows_without_a_column_set_a_site_aside() -> None:
    asked = source(nulls={"item": 0.1, "$HOME": 0})
    cells: dict[Cell, Any] = {
        (0, "a"): {"events": 100, "no item": 10, "no $HOME": 0},
        (0, "b"): {"events": 100, "no item": 11, "no $HOME": 1},
    }
    failed = failures(check(asked, cells, range(1)))
    assert list(failed) == [("nulls of $HOME", "b", 0), ("nulls of item", "b", 0)]
    assert failed["nulls of item", "b", 0].detail == "11 of 100 rows (0.11) have no item, where 0.1 is allowed"


def test_ranges_are_in_the_unit_of_the_value_and_exact_at_their_ends() -> None:
    asked = source(scale=100, ranges={"value": [-0.1, "92233720368547758.05"]})
    inside, below = {"events": 1, "least": -10, "most": 2**63 - 3}, {"events": 1, "least": -11, "most": 0}
    above, nothing = {"events": 1, "least": 0, "most": 2**63 - 2}, {"events": 1}
    cells: dict[Cell, Any] = {(0, "in"): inside, (0, "low"): below, (0, "high"): above, (0, "none"): nothing}
    findings = check(asked, cells, range(1))
    failed = failures(findings)
    assert list(failed) == [("least value", "low", 0), ("greatest value", "high", 0)]
    assert failed["least value", "low", 0].detail == "the least value is -0.11, below -0.1"
    assert failed["greatest value", "high", 0].observed == "92233720368547758.06"
    assert {one.observed for one in findings if not one.site} == {"1 of 3 sites failed"}


def test_an_open_end_is_not_checked() -> None:
    asked = source(ranges={"value": [None, 5]})
    findings = check(asked, {(0, "a"): {"events": 1, "least": -(2**63), "most": 6}}, range(1))
    assert {finding.expectation for finding in findings} == {"greatest value"}


@pytest.mark.parametrize(("policy", "severity"), [("warn", "warning"), ("set_aside", "critical")])
def test_a_site_that_is_not_listed_is_unknown_however_often_it_comes(policy: str, severity: str) -> None:
    failed = failures(check(source(["a"], unknown_sites=policy), {(0, "a"): 1, (0, "b"): 1, (1, "b"): 1}, range(2)))
    assert list(failed) == [("known site", "b", 0), ("known site", "b", 1)]
    assert {(one.severity, one.detail) for one in failed.values()} == {(severity, "not among the 1 listed site")}


def test_unknown_sites_are_allowed_unless_told_otherwise() -> None:
    assert check(source(["a"]), {(0, "b"): 1}, range(1)) == []


def test_without_a_list_the_first_sites_found_the_source_and_a_warning_is_given_once() -> None:
    cells: dict[Cell, Any] = {(1, "a"): 1, (2, "b"): 1, (3, "b"): 1}
    findings = check(source(unknown_sites="warn"), cells, range(4))
    failed = failures(findings)
    assert list(failed) == [("known site", "b", 2)]
    assert not failed["known site", "b", 2].sets_aside


def test_without_a_list_a_site_is_set_aside_in_the_epoch_that_first_meets_it() -> None:
    asked = source(unknown_sites="set_aside", freshness=0)
    cells: dict[Cell, Any] = {(0, "a"): 1, (1, "a"): 1, (1, "b"): 1, (2, "a"): 1, (3, "a"): 1, (3, "b"): 1}
    failed = failures(check(asked, cells, range(4)))
    assert list(failed) == [("known site", "b", 1), ("freshness", "b", 2)]
    assert failed["known site", "b", 1].sets_aside
    assert failed["known site", "b", 1].detail == "never seen before"


def test_a_warning_is_recorded_but_sets_nobody_aside() -> None:
    asked = source(
        freshness=0, volume={"least": 0.5, "history": 1}, nulls={"item": 0}, ranges={"value": [0, 1]},
        severity={"freshness": "warning", "volume": "warning", "nulls": "warning", "ranges": "warning"},
    )  # fmt: skip
    cells: dict[Cell, Any] = {(1, "a"): {"events": 1, "no item": 1, "least": -1, "most": 2}}
    findings = check(asked, cells, range(1, 2), {(0, "a"): 9, (0, "b"): 9}, ["a", "b"])
    failed = failures(findings)
    assert {name for name, _, _ in failed} == {
        "freshness", "volume", "nulls of item", "least value", "greatest value",
    }  # fmt: skip
    assert {finding.severity for finding in findings} == {"warning"}
    assert not any(finding.sets_aside for finding in findings)


@pytest.mark.parametrize("site", ODD_NAMES)
def test_a_site_may_have_any_name(site: str) -> None:
    failed = failures(check(source(["other"], unknown_sites="set_aside", freshness=0), {(0, site): 1}, range(1)))
    assert list(failed) == [("known site", site, 0), ("freshness", "other", 0)]


def test_what_passes_is_told_once_a_check_and_epoch() -> None:
    asked = source(freshness=1, volume={"least": 0.1}, unknown_sites="warn")
    cells: dict[Cell, Any] = {(epoch, f"site {at}"): 5 for epoch in range(3) for at in range(40)}
    findings = check(asked, cells, range(3))
    assert len(findings) == 9
    assert all(finding.success and finding.site == "" for finding in findings)
    assert [one.observed for one in findings if one.expectation == "freshness"] == [
        "no site to judge", "0 of 40 sites failed", "0 of 40 sites failed",
    ]  # fmt: skip


def test_a_key_of_the_table_validations_is_never_used_twice() -> None:
    asked = source(["a", "b"], freshness=0, volume={"least": 0.5, "history": 1}, unknown_sites="warn")
    findings = check(asked, {(0, "c"): 1, (1, "a"): 1}, range(2))
    keys = [(one.epoch_start, one.expectation, one.site) for one in findings]
    assert len(keys) == len(set(keys)) > len(failures(findings)) > 0


def test_without_any_site_every_check_passes() -> None:
    asked = source(freshness=1, nulls={"item": 0}, ranges={"value": [0, 1]}, unknown_sites="set_aside")
    findings = check(asked, {}, range(2))
    assert len(findings) == 10
    assert all(finding.success and finding.observed == "no site to judge" for finding in findings)


def test_an_empty_range_has_no_findings() -> None:
    asked = source(freshness=1, volume={"least": 0.1}, unknown_sites="warn")
    assert check(asked, {}, range(3, 3), {(2, "a"): 1}, ["a"]) == []


def test_great_expectations_is_not_imported_where_nothing_is_to_be_judged() -> None:
    code = (
        "import sys; from tests.jobs.quality.test_sites import check, source\n"
        "assert check(source(), {(0, 'a'): 1}, range(1)) == []\n"
        "assert len(check(source(freshness=1), {}, range(1))) == 1\n"
        "assert 'great_expectations' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[3])


def test_history_reaches_as_far_back_as_volume_and_freshness_look() -> None:
    assert history_epochs(source()) == 0
    assert history_epochs(source(freshness=7)) == 7
    assert history_epochs(source(freshness=7, volume={"history": 9})) == 9


@pytest.mark.parametrize("policy", ["allow", "warn", "set_aside"])
@pytest.mark.parametrize("sites", [None, ["a", "b", "never"]])
@pytest.mark.parametrize("seed", range(2))
def test_a_range_judged_at_once_equals_its_epochs_one_by_one(seed: int, sites: list[str] | None, policy: str) -> None:
    dice = random.Random(seed)
    asked = source(
        sites, freshness=dice.choice([None, 0, 1, 3]), volume={"least": 0.6, "most": 2, "history": 4},
        nulls={"item": 0.3}, unknown_sites=policy,
    )  # fmt: skip
    cells: dict[Cell, Any] = {
        (epoch, site): {"events": dice.randint(1, 20), "no item": int(dice.random() < 0.3)}
        for epoch in range(12)
        for site in "abcde"
        if dice.random() < 0.6
    }
    met, one_by_one = set[str](), list[Finding]()
    for epoch in range(12):
        now = {cell: told for cell, told in cells.items() if cell[0] == epoch}
        reach = range(epoch - history_epochs(asked), epoch)
        before = {cell: told["events"] for cell, told in cells.items() if cell[0] in reach}
        one_by_one += check(asked, now, range(epoch, epoch + 1), before, met)
        met |= {site for _, site in now}
    at_once = check(asked, cells, range(12))
    assert failures(one_by_one)
    assert set(at_once) == set(one_by_one)
    assert len(at_once) == len(one_by_one)
