"""Two runs under different hash seeds and different numbers of Spark partitions give the same content."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from monitoring_lib.tables import MESSAGES, STATES
from tests.jobs.pipeline.deployment import BUSIEST, RECENT, Deployment, shopping

pytestmark = pytest.mark.spark
MONITORS = (BUSIEST, RECENT | {"method": "margins"})
HOURS = 3


def test_neither_the_hash_seed_nor_the_partitioning_changes_what_is_said(deploy: Callable[..., Deployment]) -> None:
    found = []
    for seed, partitions in ((None, "1"), ("4242", "7")):
        options = {"spark": {"options": {"spark.sql.shuffle.partitions": partitions}}}
        deployed = deploy(f"{partitions} partitions", monitors=MONITORS, settings=options)
        for hour, rows in shopping(5, HOURS, sites=9, each_hour=150).items():
            deployed.add_file(f"{hour}.csv", rows)
        if seed is None:  # that of this process
            deployed.run(0, HOURS)
        else:
            done = deployed.command(
                "run", "--source", "shop", "--from", "2020-01-01", "--to", f"2020-01-01T{HOURS:02}:00",
                PYTHONHASHSEED=seed,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
        found.append((deployed.digests(), deployed.published(), deployed.content(MESSAGES), deployed.content(STATES)))
    assert len(found[0][0]) == 2 * HOURS
    assert found[0] == found[1]
