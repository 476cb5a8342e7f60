"""`farwatch status --check`: exit code 1 and one line a problem; 0 and nothing where there is none."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from monitoring_lib.epochs import format_time, parse_time
from tests.jobs.sealed_home import SOURCE, SealedHome, bought

HOUR = 3_600_000_000


@pytest.fixture
def home(tmp_path: Path) -> SealedHome:
    shop = SealedHome(tmp_path)
    shop.land([event for hour in range(2) for event in bought(hour, north="aab", south="cd")])
    return shop


def test_nothing_is_said_where_all_is_well_also_of_an_old_trace(home: SealedHome) -> None:
    home.run(0, 2)
    done = home.command("status", "--check")
    assert (done.returncode, done.stdout) == (0, ""), done.stdout


def test_every_problem_has_a_line(home: SealedHome) -> None:
    home.run(0, 1, missing={"south": "wild values"})
    home.land(bought(0, north="z"))
    done = home.command("status", "--check")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["shop", "busiest", "busiest", "busiest"]
    assert "2 rows of site 'south'" in lines[0]
    assert "1 epoch behind what has landed; `farwatch run --source shop" in lines[1]
    assert "stale from epoch 2020-01-01" in lines[2]
    assert "1 site missing in the last epoch: 'south'" in lines[3]


def test_an_epoch_that_never_ran_is_noticed_by_the_clock(tmp_path: Path) -> None:
    now = int(time.time() * 1_000_000)
    origin = now // HOUR * HOUR - 6 * HOUR
    shop = SealedHome(tmp_path, source=SOURCE | {"origin": format_time(origin), "deadline": "30m"})
    shop.land(bought(0, north="ab"))
    shop.run(0, 1)
    done = shop.command("status", "--check")
    assert done.returncode == 1
    assert "epochs behind the clock: sealed up to" in done.stdout
    assert parse_time(format_time(origin)) == origin
