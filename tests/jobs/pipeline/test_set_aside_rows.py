"""Rows that cannot become events: told, counted, and read again once the cause is gone; never lost in silence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from monitoring_lib.tables import ALERTS, EVENTS, LANDINGS, QUARANTINE
from tests.jobs.pipeline.deployment import BUSIEST, ONE_PARTITION, SOURCE, Deployment

pytestmark = pytest.mark.spark
WRONG = SOURCE | {"time_format": "%d/%m/%Y"}
ZONED = SOURCE | {"time_zone": "Europe/Berlin"}
RANGE = ("--source", "shop", "--from", "2020-01-01", "--to", "2020-01-01T01:00Z")
GOOD = "time,site,item,value\n" + "".join(f"2020-01-01T00:00:0{n}Z,site 1,item {n},1\n" for n in range(5))
REPEATED = "2020-10-25T02:30:00,site 1,item 9,1\n"


def reconfigured(home: Deployment, source: dict[str, Any]) -> Deployment:
    return Deployment(home.home, source, (BUSIEST,), ONE_PARTITION)


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory, spark_remote: str) -> Deployment:
    """Run twice with a wrong `time_format`, then corrected and landed again."""
    return Deployment(tmp_path_factory.mktemp("wrong"), WRONG, (BUSIEST,), ONE_PARTITION)


def test_a_wrong_time_format_is_an_error_every_time_and_after_the_correction_every_row_lands(
    wrong: Deployment,
) -> None:
    path = wrong.home / "data" / "a.csv"
    path.write_text(GOOD)
    for _ in range(2):
        done = wrong.command("run", *RANGE)
        assert done.returncode == 2, done.stderr
        said = " ".join(done.stderr.split())
        assert "none of its rows (5) could become an event" in said
        assert "time does not match %d/%m/%Y" in said
        assert "`farwatch land --source shop --again`" in said
    [alert] = [row for row in wrong.rows(ALERTS) if "is not landed" in row["subject"]]
    assert "a.csv" in alert["subject"]
    assert "2020-01-01T00:00:0" not in alert["detail"]  # no content of the file
    assert not wrong.digests()

    mended = reconfigured(wrong, SOURCE)
    assert mended.command("land", "--source", "shop", "--again").returncode == 0
    assert len(mended.rows(EVENTS)) == 5
    assert mended.command("land", "--again").returncode == 0
    assert len(mended.rows(EVENTS)) == 5


def test_set_aside_rows_are_counted_alerted_and_read_again_without_landing_twice(wrong: Deployment) -> None:
    home = Deployment(wrong.home.parent / f"{wrong.home.name}-zone", ZONED, (BUSIEST,), ONE_PARTITION)
    (home.home / "data" / "b.csv").write_text(GOOD + REPEATED)
    done = home.command("run", *RANGE)
    assert done.returncode == 0, done.stderr
    [row] = home.rows(QUARANTINE)
    assert row["kind"].startswith("time comes twice in Europe/Berlin")
    assert row["value"] == "'2020-10-25 02:30:00'"
    assert row["value"] in row["reason"]
    [alert] = home.rows(ALERTS)
    assert alert["subject"] == "1 of the 6 rows of landing 1 went to quarantine"
    assert "2020-10-25" not in alert["detail"]
    [standing] = json.loads(home.command("status", "--json").stdout)["sources"]
    assert standing["quarantined"] == 1
    assert "1 row in quarantine" in home.command("status").stdout

    second = reconfigured(home, ZONED | {"repeated_hour": "second"})
    assert second.command("land", "--source", "shop", "--again").returncode == 0
    assert sorted(row["item"] for row in second.rows(EVENTS)) == [*(f"item {n}" for n in range(5)), "item 9"]
    assert sorted(row["landed"] for row in second.rows(LANDINGS)) == [1, 5]
    [standing] = json.loads(second.command("status", "--json").stdout)["sources"]
    assert standing["quarantined"] == 0
