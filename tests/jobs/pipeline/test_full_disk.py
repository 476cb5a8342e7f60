"""A disk that is full or read-only: the command says so in one line, and run again it makes up for it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs.lake.store import Store
from monitoring_lib.errors import StorageError, UsageError
from monitoring_lib.tables import ANSWERS, CURSORS, LANDINGS
from tests.jobs.lake.test_trouble import filled
from tests.jobs.pipeline.deployment import BUSIEST, ONE_PARTITION, Deployment, shopping
from tests.jobs.pipeline.remedies import typed

FULL = shutil._ntuple_diskusage(1 << 30, 1 << 30, 0)
RUN = ("run", "--source", "shop", "--from", "2020-01-01", "--to", "2020-01-01T01:00")


def refused(folder: Path) -> str:
    """What an append is told."""
    rows = Store(str(folder)).read(CURSORS)
    with pytest.raises((StorageError, UsageError)) as error:
        Store(str(folder)).append(CURSORS, rows)
    return str(error.value)


@pytest.mark.parametrize(
    ("place", "name", "found", "said"),
    [
        (shutil, "disk_usage", FULL, "the disk is full"),
        (os, "access", False, "this user may not, or the disk is mounted read-only"),
    ],
    ids=["full", "read-only"],
)
def test_the_engine_is_not_asked_to_write_where_it_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
    place: Any, name: str, found: Any, said: str,
) -> None:  # fmt: skip
    filled(tmp_path)
    monkeypatch.setattr(place, name, lambda *_: found)
    assert said in refused(tmp_path)
    assert capfd.readouterr().err == ""
    monkeypatch.undo()
    assert filled(tmp_path).read(CURSORS).num_rows == 6


@pytest.mark.spark
def test_a_run_on_a_full_disk_is_worth_retrying_and_counts_nothing_twice(
    deploy: Callable[..., Deployment], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = shopping(7, 1, sites=3, items=5, each_hour=20)[0]
    home = deploy(monitors=(BUSIEST | {"tolerance": 0},), settings=ONE_PARTITION)
    home.add_file("0.csv", rows)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: FULL)
    said = typed(home, *RUN)
    assert said.code == 3, said.text
    assert "epochs cannot be written: the disk is full" in said.line
    assert "Traceback" not in said.text
    monkeypatch.undo()
    assert typed(home, *RUN).code == 0
    counts: dict[str, int] = {}
    for _, _, item, _ in rows:
        counts[item] = counts.get(item, 0) + 1
    assert {row["key"]: row["low"] for row in home.rows(ANSWERS)}.items() <= counts.items()
    assert len(home.rows(LANDINGS)) == 2, "the first landing was under no seal"
