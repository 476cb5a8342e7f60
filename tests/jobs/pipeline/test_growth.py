"""What an epoch writes does not grow with the number of epochs before it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from tests.jobs.pipeline.deployment import BUSIEST, HOUR, ONE_PARTITION, Deployment

pytestmark = [pytest.mark.spark, pytest.mark.slow]
MEASURED = 3


def written(home: Path) -> tuple[int, int]:
    """Bytes of all tables' files, and of their logs."""
    files = [path for path in (home / "var").rglob("*") if path.is_file() and not path.name.endswith(".crc")]
    logs = sum(path.stat().st_size for path in files if "_delta_log" in path.parts)
    return sum(path.stat().st_size for path in files) - logs, logs


def test_growing_sums_over_two_hundred_epochs_write_as_much_at_the_end_as_at_the_beginning(
    deploy: Callable[..., Deployment], capsys: pytest.CaptureFixture[str]
) -> None:
    deployed = deploy(monitors=[BUSIEST], settings=ONE_PARTITION)
    draw = random.Random(3)
    for hour in range(0, 200, 10):
        deployed.add_file(
            f"{hour:03}.csv",
            [
                (at * HOUR + draw.randrange(HOUR), f"site {draw.randrange(3)}", f"item {draw.randrange(4000)}", 1)
                for at in range(hour, hour + 10)
                for _ in range(40)
            ],
        )
    context = deployed.context()

    def single(first: int) -> list[int]:
        sizes = []
        for epoch in range(first, first + MEASURED):
            before, logs_before = written(deployed.home)
            deployed.run(epoch, epoch + 1, context=context)
            after, logs = written(deployed.home)
            sizes.append(after - before)
            with capsys.disabled():
                print(
                    f"\nepoch {epoch}: {after - before} bytes of rows, {logs - logs_before} bytes of _delta_log", end=""
                )
        return sizes

    deployed.run(0, 10, context=context)
    early = single(10)
    deployed.run(10 + MEASURED, 200 - MEASURED, context=context)
    late = single(200 - MEASURED)
    assert median(late) <= 1.5 * median(early), (early, late)
