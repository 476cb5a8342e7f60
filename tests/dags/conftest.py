from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
Described = dict[str, Any]


def write_conf(home: Path, sources: dict[str, str], monitors: dict[str, str]) -> None:
    for kind, files in (("sources", sources), ("monitors", monitors)):
        folder = home / "conf" / "base" / kind
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / f"{name}.yml").write_text(text)


@pytest.fixture(scope="session")
def describe(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Described]:
    """Parses dags/farwatch_epochs.py in a process of its own, over the configuration below a home."""
    airflow_home = tmp_path_factory.mktemp("airflow")

    def run(home: Path, **environment: str) -> Described:
        own = {"AIRFLOW_HOME": str(airflow_home), "FARWATCH_HOME": str(home)} | environment
        return in_own_process("describe.py", own, str(ROOT / "dags" / "farwatch_epochs.py"))

    return run


def in_own_process(script: str, environment: dict[str, str], *arguments: str) -> Described:
    """What a script beside this file prints as its last line, as JSON. Airflow is imported there, not here."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name(script)), *arguments],
        env={k: v for k, v in os.environ.items() if not k.startswith(("FARWATCH_", "AIRFLOW_"))} | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: Described = json.loads(done.stdout.splitlines()[-1])
    return found
