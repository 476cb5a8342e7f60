"""docs/tutorial.md as it is written: its commands are run one after the other, and print what the page shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

BLOCK = re.compile(r"```(sh|text)\n(.*?)```", re.DOTALL)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.long
def test_every_command_works_and_prints_what_the_page_shows(
    project: Path, tmp_path: Path, spark_remote: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FARWATCH_HOME", "FARWATCH_CONF", "FARWATCH_ENV"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    blocks = BLOCK.findall((project / "docs" / "tutorial.md").read_text("utf-8"))
    assert [kind for kind, _ in blocks].count("sh") >= 5
    printed = ""
    for kind, text in blocks:
        if kind == "sh":
            ended = subprocess.run(
                ["bash", "-e", "-c", text], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
            )
            printed = ended.stdout + ended.stderr
            assert ended.returncode == 0, (text, printed)
        else:
            assert [line for line in text.splitlines() if line not in printed] == [], printed
    alerts = [json.loads(line) for line in (tmp_path / "var" / "alerts.jsonl").read_text("utf-8").splitlines()]
    rules = [(alert["state"], alert["monitor"]) for alert in alerts if alert["kind"] == "rule"]
    assert rules[0] == ("opened", "sales-busiest-sites"), alerts
