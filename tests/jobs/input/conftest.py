from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from jobs.input.reading import ROWS, read
from monitoring_lib.config import Source, parse_source

COLUMNS = {"time": "time", "site": "site", "item": "item", "value": "value"}


def make_source(**keys: Any) -> Source:
    whole = {
        "name": "s",
        "format": "csv",
        "path": "x",
        "columns": COLUMNS,
        "epoch": "1h",
        "origin": "2001-01-01",
    }
    return parse_source(whole | keys, "test")


def table_of(path: Path, **keys: Any) -> pa.Table:
    return pa.Table.from_batches(read(str(path), make_source(**keys)), schema=ROWS)


@pytest.fixture
def rows(tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """The rows of a file of that content, by a source with these keys."""

    def read_rows(content: str | bytes, name: str = "file.csv", **keys: Any) -> list[dict[str, Any]]:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return table_of(path, **keys).to_pylist()

    return read_rows
