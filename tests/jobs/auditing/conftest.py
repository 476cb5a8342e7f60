"""A deployment with sealed epochs whose events are counted without a JVM, to be audited and spoilt."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from jobs.auditing.exact import ExactQuery
from jobs.auditing.scope import Scope
from jobs.lake import Lake
from monitoring_lib.tables import EVENTS
from tests.jobs.sealed_home import BUSIEST, SealedHome, bought

RECENT = BUSIEST | {"name": "recent", "window": "2h", "method": "margins", "shadow": ["caching"]}
COUNT = 6
"""Epochs that are sealed."""
SILENT = "south"
"""Missing in epochs 2 and 3, without a row; in epoch 4 its rows are set aside."""


@pytest.fixture(autouse=True)
def no_jvm() -> Iterator[None]:
    """Groups the events in this process, as Spark would."""

    def landed_rows(lake: Lake, source: str, landing: int, start: int, end: int) -> pa.Table:
        writes = [seal.write for seal in lake.ledger.landed(source, start, end) if seal.revision <= landing]
        rows = lake.sites.read(
            EVENTS, [("source", "=", source), ("epoch_start", ">=", start), ("epoch_start", "<", end)]
        )
        rows = rows.filter(pc.is_in(rows["write"], pa.array(writes, pa.string())))
        return rows.set_column(
            rows.schema.get_field_index("epoch_start"), "epoch_start", rows["epoch_start"].cast(pa.int64())
        )

    def frame(query: ExactQuery, lake: Lake, landing: int, start: int, end: int) -> Any:
        found = landed_rows(lake, query.source.name, landing, start, end)
        rows = found.append_column("key0", found["item"])
        counted = rows.group_by(["epoch_start", "site", "key0"]).aggregate([([], "count_all")])
        return SimpleNamespace(toArrow=lambda: counted.rename_columns(["epoch_start", "site", "key0", "events"]))

    def cells(lake: Lake, scope: Scope, start: int, end: int) -> pa.Table:
        rows = landed_rows(lake, scope.source.name, scope.landing, start, end)
        counted = rows.group_by(["epoch_start", "site", "write"]).aggregate([([], "count_all")])
        return counted.rename_columns(["epoch_start", "site", "write", "events"])

    with patch.object(ExactQuery, "frame", frame), patch("jobs.auditing.landed._counted", cells):
        yield


@pytest.fixture(scope="session")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> SealedHome:
    shop = SealedHome(tmp_path_factory.mktemp("sealed"), monitors=(BUSIEST, RECENT))
    for hour in range(COUNT):
        south = "" if hour in (2, 3) else "ccccdd"
        shop.land(bought(hour, north="aaaabbb", south=south, **({"west": "e" * 9} if hour > 2 else {})))
    shop.run(0, 2)
    shop.run(2, 4, missing={SILENT: "silent"})
    shop.run(4, 5, missing={SILENT: "wild values"})
    shop.run(5, COUNT)
    return shop


@pytest.fixture
def home(sealed: SealedHome, tmp_path: Path) -> SealedHome:
    """The same tables, to be spoilt."""
    shutil.copytree(sealed.home, tmp_path / "home")
    return replace(sealed, home=tmp_path / "home", events=list(sealed.events))
