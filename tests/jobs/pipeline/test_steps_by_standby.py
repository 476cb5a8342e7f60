"""The steps of epochs as a scheduler runs them, by a stand-by: what is sealed is what one process seals."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobs.local.servers import standby
from monitoring_lib.standby import STANDBY
from monitoring_lib.verbs import VERBS
from tests.jobs.pipeline.deployment import BUSIEST, ONE_PARTITION, RECENT, Deployment, shopping

pytestmark = pytest.mark.spark
FARWATCH = Path(sys.executable).with_name("farwatch")
HOURS = 3
MONITORS = (
    BUSIEST | {"shadow": ["margins"]},
    RECENT,
    {"name": "distinct", "question": "distinct-count", "source": "shop", "error": 0.2},
)
PATIENCE = 120.0


@pytest.fixture
def environment(tmp_path: Path, spark_remote: str) -> Iterator[dict[str, str]]:
    server, found_at = standby.begin(tmp_path / "standby", {})
    deadline = time.monotonic() + PATIENCE
    while not Path(found_at[STANDBY]).exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield os.environ | found_at
    server.tell_to_stop()
    server.wait_stopped()


def step(home: Deployment, environment: dict[str, str], verb: str, hour: int, given: Path | None) -> str:
    """A step of one epoch, as a task of its own; its hand-over."""
    span = [f"--from=2020-01-01T{hour:02}:00", f"--to=2020-01-01T{hour + 1:02}:00"]
    done = subprocess.run(
        [str(FARWATCH), verb, "--source=shop", *span, *([f"--given={given}"] if given else [])],
        env=environment | {"FARWATCH_HOME": str(home.home), "FARWATCH_CONF": str(home.home / "conf")},
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_steps_that_share_a_process_seal_what_a_run_seals_also_where_one_is_repeated(
    deploy: Callable[..., Deployment], environment: dict[str, str], tmp_path: Path
) -> None:
    by_steps, clean = (deploy(name, monitors=MONITORS, settings=ONE_PARTITION) for name in ("steps", "clean"))
    for hour, rows in shopping(5, HOURS).items():
        for home in (by_steps, clean):
            home.add_file(f"{hour}.csv", rows)
    clean.run(0, HOURS)
    for hour in range(HOURS):
        given: Path | None = None
        for verb in VERBS:
            told = step(by_steps, environment, verb, hour, given)
            if hour == 1:  # as a retry: what the first try had in memory is gone
                told = step(by_steps, environment, verb, hour, given)
            given = tmp_path / f"{hour}-{verb}.json"
            given.write_text(told)
    assert by_steps.digests() == clean.digests()
    assert by_steps.published() == clean.published()
