"""A folder without a configuration, which the commands take for their own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FARWATCH_HOME", str(tmp_path))
    monkeypatch.setenv("FARWATCH_CONF", str(tmp_path / "conf"))
    monkeypatch.setenv("FARWATCH_ENV", "local")
    return tmp_path
