"""`farwatch status`: how far each monitor has come, what waits, what is stale and how to mend it."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from jobs.command import cli
from jobs.looking.standing import MonitorStanding, SourceStanding, standing
from monitoring_lib.epochs import format_time, parse_time, to_datetime
from monitoring_lib.errors import ExitCode
from monitoring_lib.tables import ALERTS, VALIDATIONS
from tests.jobs.sealed_home import BUSIEST, SealedHome, bought


@pytest.fixture
def home(tmp_path: Path) -> SealedHome:
    shop = SealedHome(tmp_path)
    shop.land([event for hour in range(4) for event in bought(hour, north="aaaab", south="ccccd")])
    return shop


def source_of(home: SealedHome) -> SourceStanding:
    context = home.context()
    return standing(context, context.config.source("shop"))


def monitor_of(home: SealedHome) -> MonitorStanding:
    [found] = source_of(home).monitors
    return found


def test_a_monitor_is_behind_by_the_epochs_that_have_landed_and_are_not_sealed(home: SealedHome) -> None:
    assert (monitor_of(home).last, monitor_of(home).behind) == (None, 4)
    home.run(0, 1)
    assert monitor_of(home).behind == 3
    home.run(1, 4)
    found = monitor_of(home)
    assert (found.behind, found.epochs, found.sites, found.stale) == (0, 4, 2, None)
    assert found.last is not None
    assert format_time(found.last.epoch_start) == "2020-01-01T03:00Z"


def test_the_text_names_the_run_that_catches_up(home: SealedHome) -> None:
    home.run(0, 1)
    done = home.command("status")
    assert done.returncode == 0, done.stderr
    assert "shop: events up to epoch 2020-01-01T03:00Z, 1 landing" in done.stdout
    assert (
        "`farwatch run --source shop --from 2020-01-01T01:00Z --to 2020-01-01T04:00Z` seals what has landed"
        in done.stdout
    )


def test_an_epoch_that_goes_on_is_not_behind_and_nobody_is_told_to_run_it(
    home: SealedHome, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home.run(0, 3)
    for name in ("standing", "sealed"):
        monkeypatch.setattr(f"jobs.looking.{name}.now", lambda: parse_time("2020-01-01T03:30"))
    assert (monitor_of(home).behind, source_of(home).next_run) == (0, "")
    for name, value in home.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.argv", ["farwatch", "query", "busiest", "--epoch", "2020-01-01T03:00"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == ExitCode.NOT_NOW
    assert "2020-01-01T02:00Z are; the next ends at 2020-01-01T04:00Z" in capsys.readouterr().err
    monkeypatch.undo()
    assert monitor_of(home).behind == 1


def test_late_rows_make_a_chain_stale_and_the_named_replay_mends_it(home: SealedHome) -> None:
    home.run(0, 4)
    home.land([*bought(1, north="zzz"), *bought(2, north="z"), *bought(9, north="a")])
    stale = monitor_of(home).stale
    assert stale is not None
    assert stale.why == "4 rows of 2 epochs landed after the seal"
    assert stale.command == (
        "farwatch run --source shop --from 2020-01-01T01:00Z --to 2020-01-01T04:00Z --monitors busiest"
        " --revise 'late rows'"
    )
    home.run(1, 4, revise="late rows")
    assert monitor_of(home).stale is None
    assert monitor_of(home).revised == 3


def test_an_epoch_that_was_revised_alone_leaves_the_next_one_stale(home: SealedHome) -> None:
    home.run(0, 4)
    home.land(bought(1, north="zzzzzzzzz"))
    home.run(1, 2, revise="late rows")
    stale = monitor_of(home).stale
    assert stale is not None
    assert (format_time(stale.first), stale.why) == ("2020-01-01T02:00Z", "the epoch before it was revised since")
    start, end = re.findall(r"--from (\S+) --to (\S+)", stale.command)[0]
    assert (parse_time(start), parse_time(end)) == (stale.first, stale.first + 2 * 3_600_000_000)
    home.run(2, 4, revise="the epoch before was revised")
    assert monitor_of(home).stale is None


def test_an_epoch_that_was_revised_to_the_same_content_leaves_nothing_stale(home: SealedHome) -> None:
    home.run(0, 4)
    home.run(1, 2, revise="to be sure")
    assert monitor_of(home).stale is None


def test_a_landing_without_rows_for_sealed_epochs_leaves_nothing_stale(home: SealedHome) -> None:
    home.run(0, 4)
    home.land([])
    home.land(bought(4, north="a"))
    assert monitor_of(home).stale is None
    assert monitor_of(home).behind == 1


def test_a_stale_chain_is_said_and_is_no_failure(home: SealedHome) -> None:
    home.run(0, 4)
    home.land(bought(0, north="z"))
    done = home.command("status")
    assert done.returncode == 0
    assert (
        "busiest: stale from epoch 2020-01-01 on: 1 row landed after the seal; replay it by `farwatch run"
        in done.stdout
    )


def test_monitors_that_are_stale_alike_are_told_of_once_with_one_command(tmp_path: Path) -> None:
    home = SealedHome(tmp_path, monitors=(BUSIEST, BUSIEST | {"name": "other"}))
    home.land([*bought(0, north="a"), *bought(1, north="b")])
    home.run(0, 2)
    home.land(bought(0, north="z"))
    said = home.command("status").stdout
    assert said.count("stale from epoch") == 1
    assert "busiest, other: stale from epoch 2020-01-01 on" in said
    assert "--monitors busiest,other" in said


def test_only_monitors_that_are_behind_are_run_by_the_printed_command(tmp_path: Path) -> None:
    home = SealedHome(tmp_path, monitors=(BUSIEST, BUSIEST | {"name": "other"}))
    home.land([*bought(0, north="a"), *bought(1, north="b")])
    home.run(0, 2, only=["busiest"])
    command = "farwatch run --source shop --from 2020-01-01 --to 2020-01-01T02:00Z"
    assert source_of(home).next_run == f"{command} --monitors other"
    home.run(0, 1, only=["other"])
    home.land(bought(2, north="c"))
    assert source_of(home).next_run == ("farwatch run --source shop --from 2020-01-01T01:00Z --to 2020-01-01T03:00Z")


def test_files_wait_until_they_have_landed_as_they_are(home: SealedHome) -> None:
    file = home.home / "data" / "new.csv"
    file.write_text("time,site,item,value\n", encoding="utf-8")
    assert [(waiting.path, waiting.reason) for waiting in source_of(home).waiting] == [(str(file), "")]
    home.land([], path="data/new.csv")
    assert source_of(home).waiting == []
    file.write_text("time,site,item,value\n2020-01-01,north,a,1\n", encoding="utf-8")
    assert [(waiting.size, waiting.changed) for waiting in source_of(home).waiting] == [(file.stat().st_size, True)]
    assert "changed since it landed" in home.command("status").stdout


def test_a_refused_file_waits_with_the_reason_of_the_last_try(home: SealedHome) -> None:
    file = home.home / "data" / "bad\nname.csv"
    file.write_bytes(b"\x00\x01")
    now = datetime(2020, 1, 2, tzinfo=UTC)
    tries = [("first reason", now - timedelta(hours=1)), ("not a text file", now)]
    home.context().lake.append(
        VALIDATIONS,
        [
            {
                "source": "shop", "monitor": "", "epoch_start": to_datetime(parse_time("2020-01-01")), "step": "land",
                "expectation": "file can be read", "site": "", "severity": "critical", "success": False,
                "observed": str(file), "detail": why, "checked_at": when, "write": "land-x",
            }
            for why, when in tries
        ],
    )  # fmt: skip
    assert [waiting.reason for waiting in source_of(home).waiting] == ["not a text file"]
    text = home.command("status").stdout
    assert "1 file of 2 B to land:" in text
    assert "bad\\nname.csv  2 B  refused: not a text file" in text


def test_many_waiting_files_are_counted_and_the_refused_ones_come_first(home: SealedHome) -> None:
    for number in range(9):
        (home.home / "data" / f"{number}.csv").write_text("x", encoding="utf-8")
    lines = home.command("status").stdout.splitlines()
    assert "  9 files of 9 B to land:" in lines
    assert "    and 4 more" in lines


def test_missing_sites_of_the_last_epoch_are_named_with_the_reason(home: SealedHome) -> None:
    home.run(0, 3)
    home.run(3, 4, missing={"south": "silent for 2 epochs"})
    assert [(row["site"], row["detail"]) for row in monitor_of(home).missing] == [("south", "silent for 2 epochs")]
    text = home.command("status").stdout
    assert "busiest: missing in the last epoch: 'south' (site is fresh does not hold: silent for 2 epochs)" in text
    assert "1 of 2" in text


def test_the_last_alerts_are_told_newest_first(home: SealedHome) -> None:
    home.context().lake.append(
        ALERTS,
        [
            {
                "digest": str(number), "source": "shop", "monitor": "busiest", "severity": "critical",
                "epoch_start": to_datetime(parse_time("2020-01-01")), "subject": f"trouble {number}", "detail": "a\nb",
                "site": "", "kind": "rule", "about": str(number), "state": "opened", "turn": 0, "sinks": ["log"],
                "raised_at": to_datetime(parse_time("2020-01-02") + number), "write": "alert-x",
            }
            for number in range(7)
        ],
    )  # fmt: skip
    assert [alert["subject"] for alert in source_of(home).alerts] == [f"trouble {number}" for number in (6, 5, 4, 3, 2)]
    assert "critical: busiest, epoch 2020-01-01: trouble 6. a\\nb" in home.command("status").stdout


def test_json_holds_the_same_for_machines(home: SealedHome) -> None:
    home.run(0, 4)
    home.land(bought(3, north="z"))
    [source] = json.loads(home.command("status", "--json").stdout)["sources"]
    [monitor] = source["monitors"]
    assert (source["source"], source["landings"], source["last_landed_epoch"]) == ("shop", 2, "2020-01-01T03:00Z")
    assert (monitor["last_sealed_epoch"], monitor["epochs_behind"], monitor["epochs"]) == ("2020-01-01T03:00Z", 0, 4)
    assert monitor["stale"]["from"] == "2020-01-01T03:00Z"


def test_a_deployment_without_any_table_is_told_as_such(tmp_path: Path) -> None:
    fresh = SealedHome(tmp_path, monitors=[BUSIEST])
    done = fresh.command("status")
    assert done.returncode == 0, done.stderr
    assert "shop: no event has landed yet" in done.stdout
    assert "nothing sealed yet" in done.stdout
    assert not (tmp_path / "var").exists(), "looking makes no tables"
