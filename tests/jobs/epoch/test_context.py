"""The session that a process opens: a quick start for few events, Java's optimisations for many."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.epoch import context as context_module
from jobs.epoch.context import Context
from jobs.input import files as files_module
from jobs.spark import session as session_module
from jobs.spark.options import QUICK_START, spark_options
from monitoring_lib.config import load
from monitoring_lib.errors import StorageError
from tests.jobs.sealed_home import SOURCE, SealedHome


@pytest.mark.parametrize("files", [1, 3])
def test_a_session_expects_much_work_where_the_files_are_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int
) -> None:
    SealedHome(tmp_path, (), SOURCE)
    folder = (tmp_path / SOURCE["path"]).parent
    folder.mkdir(exist_ok=True)
    for number in range(files):
        (folder / f"{number}.csv").write_bytes(b"x" * 100)
    asked: list[bool] = []
    monkeypatch.setattr(context_module, "_BULK", 250)
    monkeypatch.setattr(session_module, "open_session", lambda settings, home, *, bulk: asked.append(bulk))
    assert Context(load(tmp_path / "conf"), tmp_path).session is None
    assert asked == [files == 3]


def test_files_that_cannot_be_looked_at_do_not_keep_other_sources_from_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SealedHome(tmp_path, (), SOURCE)

    def refused(pattern: str, home: Path) -> list[files_module.FoundFile]:
        raise StorageError(f"{pattern}: Permission denied")

    monkeypatch.setattr(files_module, "find", refused)
    monkeypatch.setattr(session_module, "open_session", lambda settings, home, *, bulk: bulk)
    assert Context(load(tmp_path / "conf"), tmp_path).session is False


def test_only_a_session_without_much_work_gives_up_optimisations_for_a_quick_start(tmp_path: Path) -> None:
    java = "spark.driver.extraJavaOptions"
    assert spark_options(tmp_path)[java] == QUICK_START
    assert "TieredStopAtLevel" not in spark_options(tmp_path, optimised=True)[java]
