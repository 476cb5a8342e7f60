"""However a range is run, it gives the same content: at once, epoch by epoch, step by step, here or in Spark."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from monitoring_lib.tables import ANSWERS, MESSAGES
from tests.jobs.pipeline.deployment import BUSIEST, RECENT, Deployment, shopping

pytestmark = pytest.mark.spark
EPOCHS = 6
"""Twice the length of the longest window."""
MORE_EPOCHS = 12
"""Enough commits for a checkpoint in every table, for `make test-long`."""
Deploy = Callable[..., Deployment]
MONITORS = (BUSIEST | {"shadow": ["margins"]}, RECENT | {"method": "margins"})


def filled(home: Deployment, epochs: int) -> Deployment:
    for hour, rows in shopping(1, epochs).items():
        home.add_file(f"{hour:02}.csv", rows)
    return home


@pytest.fixture(scope="module")
def at_once(tmp_path_factory: pytest.TempPathFactory, spark_remote: str) -> Deployment:
    whole = filled(Deployment(tmp_path_factory.mktemp("at once"), monitors=MONITORS), EPOCHS)
    whole.run(0, EPOCHS)
    return whole


def run_one_by_one(single: Deployment, epochs: int) -> None:
    for hour, rows in shopping(1, epochs).items():
        single.add_file(f"{hour:02}.csv", rows)
        single.run(hour, hour + 1)


def test_a_range_of_epochs_equals_as_many_runs_of_one(deploy: Deploy, at_once: Deployment) -> None:
    single = deploy("single", monitors=MONITORS)
    run_one_by_one(single, EPOCHS)
    assert len(single.digests()) == 2 * EPOCHS
    assert single.digests() == at_once.digests()
    assert single.published() == at_once.published()


@pytest.mark.long
def test_a_longer_range_equals_as_many_runs_of_one(deploy: Deploy) -> None:
    whole, single = deploy("whole", monitors=MONITORS), deploy("single", monitors=MONITORS)
    filled(whole, MORE_EPOCHS).run(0, MORE_EPOCHS)
    run_one_by_one(single, MORE_EPOCHS)
    assert len(single.digests()) == 2 * MORE_EPOCHS
    assert (single.digests(), single.published()) == (whole.digests(), whole.published())


def test_sites_in_sparks_tasks_equal_sites_in_this_process(deploy: Deploy, at_once: Deployment) -> None:
    epochs = 4
    in_spark = filled(deploy("spark", monitors=MONITORS, settings={"sites_run": "spark"}), EPOCHS)
    in_spark.run(0, 1)
    in_spark.run(1, epochs)
    digests = in_spark.digests()
    assert len(digests) == 2 * epochs
    assert digests == {key: at_once.digests()[key] for key in digests}


def test_steps_in_processes_of_their_own_equal_a_run(deploy: Deploy, at_once: Deployment) -> None:
    apart = filled(deploy("apart", monitors=MONITORS), EPOCHS)
    given = ""
    for step in ("land", "gate", "summarise", "observe", "resolve", "validate", "seal", "alert"):
        done = apart.command(
            step, "--source", "shop", "--from", "2020-01-01T00:00", "--to", "2020-01-01T03:00", FARWATCH_GIVEN=given
        )
        assert done.returncode == 0, done.stderr
        given = done.stdout.splitlines()[-1]
    assert apart.digests() == {key: at_once.digests()[key] for key in apart.digests()}
    assert len(apart.digests()) == 6


def test_running_a_sealed_range_again_changes_nothing(at_once: Deployment) -> None:
    before = at_once.digests(), at_once.content(ANSWERS), at_once.content(MESSAGES)
    at_once.run(0, EPOCHS)
    assert (at_once.digests(), at_once.content(ANSWERS), at_once.content(MESSAGES)) == before
