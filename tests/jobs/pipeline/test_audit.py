"""`farwatch audit`: through Spark: nothing is found where all is well, with every kind of question."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from jobs.verbs.audit import audit
from tests.jobs.pipeline.deployment import BUSIEST, HOUR, ONE_PARTITION, RECENT, SOURCE, Deployment, shopping

pytestmark = [pytest.mark.spark, pytest.mark.long]
EPOCHS = 8
MONITORS: tuple[dict[str, Any], ...] = (
    BUSIEST | {"method": "margins", "shadow": ["caching"]},
    RECENT,
    {"name": "everywhere", "question": "top-k-everywhere", "source": "shop", "k": 2, "window": "3h"},
    {"name": "distinct", "question": "distinct-count", "source": "shop", "error": 0.2, "where": "value > 3"},
    {"name": "frequent", "question": "frequent-items", "source": "shop", "support": 0.05, "error": 0.01, "decay": 0.9,
     "tree": {"fanout": 2}},
    {"name": "levels", "question": "aggregates", "source": "shop", "value": "last(value)", "tick": "10m",
     "queries": [{"name": "all", "ask": "sum", "precision": 3}, {"name": "alive", "ask": "count"}]},
)  # fmt: skip
STRICT = SOURCE | {"quality": {"freshness": 0, "ranges": {"value": [0, 100]}}}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory, spark_remote: str) -> Deployment:
    """An outage of one site over two epochs, values out of range at another in one, a site that joins late."""
    home = Deployment(tmp_path_factory.mktemp("sound"), STRICT, MONITORS, ONE_PARTITION)
    hours = shopping(9, EPOCHS)
    for hour in (3, 4):
        hours[hour] = [row for row in hours[hour] if row[1] != "site 1"]
    for hour in (0, 1):
        hours[hour] = [row for row in hours[hour] if row[1] != "site 3"]
    hours[5].append((5 * HOUR + 7, "site 2", "item 1", 5000))
    for hour, rows in hours.items():
        home.add_file(f"{hour}.csv", rows)
    home.run(0, 4)
    home.run(4, EPOCHS)
    return home


@pytest.fixture
def copied(sound: Deployment, tmp_path: Path) -> Deployment:
    """The same tables, to be spoilt."""
    shutil.copytree(sound.home, tmp_path / "copy")
    return Deployment(tmp_path / "copy", STRICT, MONITORS, ONE_PARTITION)


def test_nothing_is_found_where_all_is_well(sound: Deployment) -> None:
    found = audit(sound.context(), "shop")
    assert list(found.problems()) == []
    assert {one.monitor: (one.kept, len(one.epochs)) for one in found.monitors.values()} == {
        monitor["name"]: (EPOCHS, EPOCHS) for monitor in MONITORS
    }
