"""Several processes race to seal the same epochs while another compacts the ledger: each is sealed once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jobs.lake.ledger import Ledger
from jobs.lake.store import Store
from monitoring_lib.tables import EPOCHS

EPOCHS_RACED, RACERS = 60, 3


def _start(project: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.jobs.lake.racing", *arguments]
    return subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_sixty_epochs_are_each_sealed_exactly_once_beside_compaction(project: Path, tmp_path: Path) -> None:
    root = str(tmp_path / "centre")
    Store(root).opened(EPOCHS)
    compactor = _start(project, "compact", root, str(EPOCHS_RACED))
    racers = [_start(project, "race", root, f"racer{number}", str(EPOCHS_RACED)) for number in range(RACERS)]
    won: list[int] = []
    for racer in racers:
        out, err = racer.communicate(timeout=300)
        assert racer.returncode == 0, err
        won += map(int, out.split())
    _, err = compactor.communicate(timeout=300)
    assert compactor.returncode == 0, err
    assert sorted(won) == list(range(EPOCHS_RACED))
    rows = Store(root).read(EPOCHS)
    assert rows.num_rows == EPOCHS_RACED
    seals = Ledger(Store(root)).seals("s", "m")
    assert [one.parent for one in seals[1:]] == [one.digest for one in seals[:-1]]
