"""Every question and every method, through Spark and Delta: the tables equal what the simulator says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobs.simulation.generate import generate
from monitoring_lib.protocols import find_question, methods, questions
from tests.jobs.pipeline.test_equals_simulation import CDN, Deploy, assert_equals_simulation

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ASKED: dict[str, dict[str, Any]] = {
    "top-k": {"k": 5, "tolerance": 20, "window": "3h", "totals": 0.05},
    "top-k-everywhere": {"k": 5, "window": "3h"},
    "distinct-count": {"error": 0.2, "reset": "1d"},
    "duplication": {
        "sample": 50, "lag": 0.1,
        "ask": {"distinct": True, "once": True, "quantiles": [0.5], "shares": {"short": "length(item) < 12"}},
    },
    "distinct-heavy-hitters": {"by": "site", "share": 0.05, "error": 0.02},
    "distinct-quantiles": {"item": "value_text", "bits": 24, "quantiles": [0.5, 0.9], "error": 0.1},
    "aggregates": {
        "value": "count", "tick": "10m",
        "queries": [
            {"name": "all", "ask": "sum", "precision": 20},
            {"name": "busiest", "ask": "max", "precision": 4},
            {"name": "sites", "ask": "count"},
        ],
        "publish": "tick",
    },
    "recent-counts": {
        "tick": "10m", "window": "2h", "error": 0.1,
        "queries": [
            {"name": "first", "point": "/asset/000000", "range": "30m"},
            {"name": "top", "heavy_hitters": 0.3, "range": "2h"},
            {"name": "skew", "self_join": True, "range": "1h"},
        ],
    },
    "self-join-size": {"tick": "1h", "window": "3h", "tolerance": 0.3, "error": 0},
    "over-threshold": {"tick": "1h", "window": "3h", "threshold": 30, "slack": 0.2, "error": 0},
    "frequent-items": {"support": 0.02, "error": 0.005, "decay": 0.9, "tree": {"fanout": 3}},
}  # fmt: skip
"""What a monitor says for each question, beside the common keys."""
SOURCE = CDN | {"columns": {**CDN["columns"], "value_text": "value"}}


def monitors(shadowed: bool) -> list[dict[str, Any]]:
    made = []
    for name, keys in ASKED.items():
        chosen = find_question(name).default_method
        others = sorted(method for question, method in methods() if question == name and method != chosen)
        made.append({"name": name, "question": name, "source": "cdn", "shadow": others if shadowed else [], **keys})
    return made


def test_every_question_that_exists_is_asked_here() -> None:
    assert set(ASKED) == set(questions())


def test_every_method_in_a_range_of_epochs(deploy: Deploy, tmp_path: Path) -> None:
    asked = monitors(shadowed=True)
    deployed = deploy(source=SOURCE, monitors=asked)
    generate("cdn", deployed.home / "data", seed=3, sites=7, hours=5, events_per_hour=500, items=200)
    deployed.run(0, 3)
    deployed.run(3, 5)
    for monitor in asked:
        assert_equals_simulation(deployed, monitor["name"], tmp_path / monitor["name"])


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_meshes_trees_and_sketches_with_the_sites_in_spark(deploy: Deploy, tmp_path: Path) -> None:
    names = ("top-k-everywhere", "frequent-items", "recent-counts", "distinct-count")
    asked = [monitor for monitor in monitors(shadowed=False) if monitor["name"] in names]
    deployed = deploy(source=SOURCE, monitors=asked, settings={"sites_run": "spark"})
    generate("cdn", deployed.home / "data", seed=4, sites=5, hours=3, events_per_hour=200, items=60)
    deployed.run(0, 1)
    deployed.run(1, 3)
    for monitor in asked:
        assert_equals_simulation(deployed, monitor["name"], tmp_path / monitor["name"])
