"""Monitors that cannot be run for the same reason: it is said once, and its remedy is for all of them."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from jobs.epoch.handover import Handover
from jobs.epoch.reasons import by_reason
from monitoring_lib.errors import EpochGapError
from tests.jobs.sealed_home import BUSIEST, SealedHome, bought

MONITORS = (BUSIEST, BUSIEST | {"name": "recent", "window": "2h"}, BUSIEST | {"name": "top", "k": 1})
HOURS = 5


def test_names_in_front_and_in_commands_are_put_together_and_other_reasons_stay_apart() -> None:
    reasons = {
        name: f"{name}: epoch 1 is not sealed; `farwatch run --monitors {name} --revise 'why'`" for name in ("b", "a")
    }
    assert by_reason(reasons | {"ab": "ab, epoch 1: its rows are gone", "c": "odd --monitors cd "}) == {
        ("a", "b"): "epoch 1 is not sealed; `farwatch run --monitors a,b --revise 'why'`",
        ("ab",): "epoch 1: its rows are gone",
        ("c",): "odd --monitors cd ",
    }


def test_a_run_that_fails_says_each_reason_once() -> None:
    given = Handover("shop", 0, 1, failed={"a": "a: no", "b": "b: no", "c": "odd"})
    assert str(given.failure()) == "a, b are not sealed: no; c is not sealed: odd"


@pytest.fixture
def home(tmp_path: Path) -> SealedHome:
    made = SealedHome(tmp_path, MONITORS)
    for hour in range(HOURS):
        made.land(bought(hour, north="aab", south="bcc"), f"data/{hour}.csv")
    return made


def test_a_gap_of_all_monitors_is_one_line_with_one_command(
    home: SealedHome, capsys: pytest.CaptureFixture[str]
) -> None:
    home.run(0, 2)
    capsys.readouterr()
    with pytest.raises(EpochGapError) as gap:
        home.run(3, 4)
    assert str(gap.value) == (
        "busiest, recent, top: epoch 2020-01-01T02:00Z is not sealed, so 2020-01-01T03:00Z cannot be run; first run"
        " `farwatch run --source shop --from 2020-01-01T02:00Z --to 2020-01-01T03:00Z`"
    )
    assert "not sealed" not in capsys.readouterr().err


def test_monitors_that_were_added_later_are_filled_in_by_one_command(
    home: SealedHome, capsys: pytest.CaptureFixture[str]
) -> None:
    home.run(0, 2, only=["top"])
    capsys.readouterr()
    home.run(2, 3)
    said = " ".join(capsys.readouterr().err.split())
    assert said.count("fills it in") == 1
    [command] = [part for part in said.split("`") if part.startswith("farwatch run")]
    assert shlex.split(command)[-2:] == ["--monitors", "busiest,recent"]


def test_chains_that_do_not_follow_any_more_are_replayed_by_one_command(home: SealedHome) -> None:
    home.run(0, HOURS - 1)
    home.land(bought(1, north="zzz"))
    home.run(1, 2, revise="late rows")
    with pytest.raises(EpochGapError) as torn:
        home.run(HOURS - 1, HOURS)
    [command] = [part for part in str(torn.value).split("`") if part.startswith("farwatch run")]
    assert "--monitors busiest,recent,top --revise" in command
