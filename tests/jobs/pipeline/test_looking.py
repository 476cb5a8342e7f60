"""The commands that look, over what a real run of all eight steps has sealed."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from monitoring_lib.tables import TABLES
from tests.jobs.pipeline.deployment import BUSIEST, RECENT, Deployment, shopping

pytestmark = pytest.mark.spark
HOURS = 3


def test_query_status_and_inspect_tell_what_the_run_has_sealed(deploy: Callable[..., Deployment]) -> None:
    shop = deploy(monitors=(BUSIEST | {"shadow": ["margins"]}, RECENT))
    for hour, rows in shopping(5, HOURS).items():
        shop.add_file(f"{hour:02}.csv", rows)
    shop.run(0, HOURS)
    shop.add_file("later.csv", [(3_600, "site 9", "item new", 1)])

    [source] = json.loads(shop.command("status", "--json").stdout)["sources"]
    assert [file["path"].rsplit("/", 1)[1] for file in source["waiting"]] == ["later.csv"]
    assert {one["last_sealed_epoch"] for one in source["monitors"]} == {"2020-01-01T02:00Z"}
    assert all(one["stale"] is None for one in source["monitors"])

    found = json.loads(shop.command("query", "busiest", "--history", str(HOURS), "--json").stdout)
    published = [row for row in shop.rows(TABLES["answers"]) if row["monitor"] == "busiest"]
    last = max(row["epoch_start"] for row in published)
    assert {(row["rank"], row["key"], row["low"], row["high"]) for row in found["answers"]} == {
        (row["rank"], row["key"], row["low"], row["high"]) for row in published if row["epoch_start"] == last
    }
    sql = "SELECT sum(bytes) FROM messages WHERE monitor = 'busiest' AND method = 'caching' AND current"
    [[sent]] = json.loads(shop.command("query", "--sql", sql, "--json").stdout)["rows"]
    assert found["so_far"]["bytes"] == sent
    sql = "SELECT sum(octet_length(payload)) FROM synopses WHERE summary = (SELECT min(summary) FROM synopses)"
    totals = json.loads(shop.command("query", "--sql", sql.replace("min(", "max("), "--json").stdout)["rows"]
    totals += json.loads(shop.command("query", "--sql", sql, "--json").stdout)["rows"]
    assert [found["so_far"]["shipping_bytes"]] in totals

    states = json.loads(shop.command("inspect", "busiest", "--what", "state", "--site", "site 1", "--json").stdout)
    [state] = states["records"]
    counted = sum(1 for rows in shopping(5, HOURS).values() for row in rows if row[1] == "site 1")
    assert sum(number for _, number in state["content"]["sums"]) == counted

    shop.run(HOURS, HOURS + 1)
    status = shop.command("status").stdout
    assert "stale from epoch 2020-01-01T01:00Z on: 1 row landed after the seal" in status
