"""The ledger is lost together with a file that has landed: its events cannot land anew, so nothing goes on without."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from monitoring_lib.tables import ANSWERS, EPOCHS
from tests.jobs.pipeline.deployment import BUSIEST, ONE_PARTITION, Deployment, shopping
from tests.jobs.pipeline.remedies import typed

pytestmark = pytest.mark.spark
RUN = ("run", "--source", "shop", "--from", "2020-01-01", "--to", "2020-01-01T02:00")


def test_a_lost_ledger_and_a_landed_file_that_is_gone_are_no_smaller_number(
    deploy: Callable[..., Deployment],
) -> None:
    home = deploy(monitors=(BUSIEST | {"tolerance": 0},), settings=ONE_PARTITION)
    hours = shopping(7, 2, sites=3, items=5, each_hour=20)
    first = home.add_file("0.csv", hours[0])
    home.add_file("1.csv", hours[1])
    home.run(0, 2)
    published = home.published()
    shutil.rmtree(Path(home.context().lake.centre.location(EPOCHS)))
    content = first.read_bytes()
    first.unlink()
    said = typed(home, *RUN)
    assert said.code == 1, said.text
    assert "shop: the table `epochs` is damaged" in said.line
    assert "0.csv have landed under none of its landings (1 such files), which is gone" in said.line
    assert home.published() == published
    first.write_bytes(content)
    assert typed(home, *RUN).code == 0
    assert home.published() == published
    assert len({row["epoch_start"] for row in home.rows(ANSWERS)}) == 2
