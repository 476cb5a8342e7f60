"""A deployment with sealed epochs whose events are counted without a JVM, to be audited and spoilt."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.jobs.auditing.counting import counted_here
from tests.jobs.sealed_home import BUSIEST, SealedHome, bought

RECENT = BUSIEST | {"name": "recent", "window": "2h", "method": "margins", "shadow": ["caching"]}
COUNT = 6
"""Epochs that are sealed."""
SILENT = "south"
"""Missing in epochs 2 and 3, without a row; in epoch 4 its rows are set aside."""


@pytest.fixture(autouse=True)
def no_jvm() -> Iterator[None]:
    with counted_here():
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
