"""Maintenance of the sites' tables, which Spark does: small files of closed days, dead rows, files left behind."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pyarrow as pa
import pytest

from jobs.lake import new_write
from jobs.verbs.land import land
from jobs.verbs.maintain import maintain
from monitoring_lib.tables import EVENTS
from tests.jobs.pipeline.deployment import HOUR, ONE_PARTITION, Deployment

pytestmark = [pytest.mark.spark, pytest.mark.long]
DAYS = 4


def test_files_of_closed_days_become_one_and_dead_rows_and_files_go(deploy: Callable[..., Deployment]) -> None:
    home = deploy(settings=ONE_PARTITION)
    for part in range(2):
        rows = [(day * 24 * HOUR + part, f"site {day}", "item", 1) for day in range(DAYS)]
        home.add_file(f"{part}.csv", rows)
        land(home.context(), home.handover(0, 1))
    sealed = home.content(EVENTS)
    lake = home.context().lake
    events = lake.sites.read(EVENTS)
    dead = events.set_column(events.column_names.index("write"), "write", pa.array([new_write("land")] * len(events)))
    lake.append(EVENTS, dead)
    old = home.home / "var/sites/events/left.parquet"
    old.write_bytes(b"left by a writer that was killed")
    os.utime(old, (time.time() - 8 * 86_400,) * 2)

    maintain(home.context().lake)
    assert files_by_day(home) == [1, 1, 3, 3]
    assert len(home.rows(EVENTS)) == 4 * DAYS
    assert not old.exists()

    maintain(home.context().lake, now=time.time_ns() // 1000 + 8 * 86_400_000_000)
    assert home.content(EVENTS) == sealed
    assert files_by_day(home)[:2] == [1, 1]
    home.run(0, 2)
    assert home.content(EVENTS) == sealed


def files_by_day(home: Deployment) -> list[int]:
    found = home.context().lake.sites.open(EVENTS)
    assert found is not None
    days = pa.table(found.get_add_actions(flatten=True))["partition.day"].to_pylist()
    return [days.count(day) for day in sorted(set(days))]
