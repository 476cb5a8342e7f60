"""`farwatch up` and `farwatch down` without a server: what they print where, and two of them at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.local import up_down
from jobs.local.servers import process


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """As `up` leaves it; no such process runs."""
    place = tmp_path / "var" / "up.json"
    place.parent.mkdir()
    running = {
        "url": "http://127.0.0.1:8080",
        "password_file": "passwords.json",
        "guards": {"Spark Connect": 2**22 + 1},
    }
    place.write_text(json.dumps(running))
    return place


def test_the_address_is_on_standard_output(
    record: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(up_down, "is_guard", lambda pid: True)
    up_down.up(record.parents[1])
    said = capsys.readouterr()
    assert "http://127.0.0.1:8080" in said.out
    assert "running already" in said.err


def test_a_second_down_may_be_faster(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped_by_another(pid: int) -> bool:
        record.unlink()
        return False

    monkeypatch.setattr(up_down, "stop_guard", stopped_by_another)
    up_down.down(record.parents[1])
    assert not record.exists()


def test_down_where_nothing_runs_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    up_down.down(tmp_path)
    assert "Nothing is running here" in capsys.readouterr().err


def test_a_guard_that_ends_while_we_look_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "is_guard", lambda pid: True)
    assert not process.stop_guard(2**22 + 1)


def test_two_downs_at_once_end_well(record: Path) -> None:
    command = [sys.executable, "-m", "jobs.command.cli", "down"]
    given = os.environ | {"FARWATCH_HOME": str(record.parents[1])}
    both = [subprocess.Popen(command, env=given, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for one in both:
        _, said = one.communicate(timeout=120)
        assert one.returncode == 0, said
        assert "Traceback" not in said
    assert not record.exists()
