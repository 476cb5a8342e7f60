"""A monitor that is added later, and epochs that have not ended: nobody is held up, nothing is sealed too early."""

from __future__ import annotations

import time

import pytest

from monitoring_lib.epochs import format_time
from monitoring_lib.tables import ALERTS
from tests.jobs.pipeline.deployment import BUSIEST, ONE_PARTITION, RECENT, SOURCE, Deployment, shopping
from tests.jobs.pipeline.remedies import follow, typed

pytestmark = pytest.mark.spark
HOURS = 4


def hours(first: int, last: int) -> tuple[str, ...]:
    return "--source", "shop", "--from", f"2020-01-01T{first:02}:00Z", "--to", f"2020-01-01T{last:02}:00Z"


def test_a_monitor_added_later_holds_up_nobody_and_its_command_fills_it_in(
    tmp_path_factory: pytest.TempPathFactory, spark_remote: str
) -> None:
    folder = tmp_path_factory.mktemp("added")
    home = Deployment(folder, monitors=(BUSIEST,), settings=ONE_PARTITION)
    for hour, rows in shopping(3, HOURS).items():
        home.add_file(f"{hour}.csv", rows)
    home.run(0, 2)
    both = Deployment(folder, monitors=(BUSIEST, RECENT), settings=ONE_PARTITION)
    done = typed(both, "run", *hours(2, 3))
    assert done.code == 0, done.text
    assert "recent: no epoch is sealed yet" in done.line
    assert len([key for key in both.digests() if key[0] == "busiest"]) == 3
    assert typed(both, "run", *hours(2, 3)).code == 0  # everything else is sealed
    [alert] = both.rows(ALERTS)
    assert (alert["monitor"], alert["severity"], alert["subject"]) == ("recent", "warning", "is not filled in")
    asked_for = typed(both, "run", *hours(2, 3), "--monitors", "recent")
    assert asked_for.code == 4
    assert asked_for.remedies[0] == done.remedies[0]

    follow(both, done)
    assert typed(both, "run", *hours(3, 4)).code == 0
    whole = Deployment(tmp_path_factory.mktemp("whole"), monitors=(BUSIEST, RECENT), settings=ONE_PARTITION)
    for hour, rows in shopping(3, HOURS).items():
        whole.add_file(f"{hour}.csv", rows)
    whole.run(0, HOURS)
    assert both.digests() == whole.digests()


def test_an_epoch_that_has_not_ended_is_refused_naming_the_last_complete_one(
    tmp_path_factory: pytest.TempPathFactory, spark_remote: str
) -> None:
    hour = 3_600_000_000
    ended = int(time.time() * 1_000_000) // hour * hour
    source = SOURCE | {"origin": format_time(ended - 2 * hour)}
    home = Deployment(tmp_path_factory.mktemp("early"), source, (BUSIEST,), ONE_PARTITION)
    span = ["--source", "shop", "--from", source["origin"], "--to"]
    done = typed(home, "run", *span, format_time(ended + 100 * hour))
    if int(time.time() * 1_000_000) // hour * hour != ended:
        pytest.skip("the hour has changed under the test")
    assert done.code == 4, done.text
    assert f"the last complete epoch of shop is {format_time(ended - hour)}" in done.line
    assert not home.digests()
    assert not home.rows(ALERTS)
    follow(home, done)
    assert len(home.digests()) == 2
