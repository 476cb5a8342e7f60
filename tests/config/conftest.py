from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

SOURCE = """\
name: flights
format: csv
path: data/flights-*.csv.gz
columns: {time: time, site: origin, item: dest, value: delay}
epoch: 1d
origin: 2001-01-01
"""
MONITOR = """\
name: busiest
question: top-k
source: flights
k: 10
"""


@pytest.fixture
def conf(tmp_path: Path) -> Callable[..., Path]:
    """Writes a sound configuration folder, with the given files in place of its own or beside them."""

    def write(files: dict[str, str] | None = None) -> Path:
        whole = {"base/sources/flights.yml": SOURCE, "base/monitors/busiest.yml": MONITOR} | (files or {})
        for name, text in whole.items():
            path = tmp_path / "conf" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        return tmp_path / "conf"

    return write
