"""Questions through Spark and Delta over real traces: the tables equal the simulator's, sites in process and in Spark.

The tree of the wikis has a branch for each first letter: l and b join late, u is silent in hour 2, g from hour 2 on.
"""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path
from typing import Any

import pytest

from monitoring_lib.protocols import methods
from tests.jobs.pipeline.test_equals_simulation import FLIGHTS, Deploy, assert_equals_simulation, first_days

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(1800)]

PLACES = ("process", "spark")
WIKI: dict[str, Any] = {
    "name": "wiki", "format": "csv", "path": "data/*.csv", "epoch": "1h", "origin": "2015-09-12",
    "columns": {"time": "time", "site": "site", "item": "item", "added": "added"},
}  # fmt: skip
ZEEK: dict[str, Any] = {
    "name": "dns", "format": "csv", "path": "data/*.csv", "epoch": "2m", "origin": "2018-03-24T17:14Z",
    "columns": {"time": "time", "site": "site", "item": "item", "src": "src"},
}  # fmt: skip
EVERYWHERE = {"name": "everywhere", "question": "top-k-everywhere", "k": 5, "shadow": ["full-lists"]}
FREQUENT = {"name": "frequent", "question": "frequent-items", "support": 0.02, "error": 0.005, "decay": 0.9}
ASK = {"distinct": True, "once": True, "quantiles": [0.5, 0.9], "shares": {"short": "length(item) < 12"}}
DISTINCT: list[dict[str, Any]] = [
    {"name": "different", "question": "distinct-count", "error": 0.1},
    {"name": "different-3", "question": "distinct-count", "error": 0.1},
    {"name": "duplicates", "question": "duplication", "sample": 200, "lag": 0.1, "ask": ASK},
]


def shadowed(monitor: dict[str, Any], source: str, **more: Any) -> dict[str, Any]:
    """The monitor with every other method of its question beside it."""
    asked = monitor["question"]
    default = {"distinct-count": "repaid-sharing", "duplication": "local-counts"}.get(asked, "shared-bits")
    others = sorted(method for question, method in methods() if question == asked and method != default)
    return {"source": source, "method": default, "shadow": others, **monitor, **more}


def wiki(traces: Path, folder: Path, hours: int) -> None:
    with gzip.open(traces / "wiki_edits_2015-09-12.csv.gz", "rt", encoding="utf-8") as trace:
        lines = [next(trace), *(line for line in trace if line < f"2015-09-12T{hours:02}")]
    (folder / "wiki.csv").write_text("".join(lines), encoding="utf-8")


@pytest.mark.parametrize("place", PLACES)
def test_a_mesh_and_a_tree_on_wiki(deploy: Deploy, traces: Path, tmp_path: Path, place: str) -> None:
    hours = 7 if place == "process" else 3
    asked: list[dict[str, Any]] = [
        EVERYWHERE | {"source": "wiki", "window": "2h"},
        FREQUENT | {"source": "wiki", "tree": {"levels": ["prefix(site, 1)"]}, "shadow": ["gradient"]},
    ]
    deployed = deploy(source=WIKI, monitors=asked, settings={"sites_run": place})
    wiki(traces, deployed.home / "data", hours)
    deployed.run(0, 2)
    deployed.run(2, hours)
    for monitor in asked:
        assert_equals_simulation(deployed, monitor["name"], tmp_path / monitor["name"])


@pytest.mark.parametrize("place", PLACES)
def test_a_mesh_and_a_tree_on_flights_by_days(deploy: Deploy, traces: Path, tmp_path: Path, place: str) -> None:
    days = 4 if place == "process" else 2
    asked = [EVERYWHERE | {"source": "flights", "window": "2d", "shadow": []}, FREQUENT | {"source": "flights"}]
    deployed = deploy(source=FLIGHTS, monitors=asked, settings={"sites_run": place})
    first_days(traces, deployed.home / "data", days)
    deployed.run(0, days)
    for monitor in asked:
        assert_equals_simulation(deployed, monitor["name"], tmp_path / monitor["name"])


def test_what_is_different_on_wiki(deploy: Deploy, traces: Path, tmp_path: Path) -> None:
    numbers = {"question": "distinct-quantiles", "item": "added", "bits": 16, "quantiles": [0.1, 0.5, 0.9]}
    asked = [
        *(shadowed(monitor, "wiki") for monitor in DISTINCT),
        shadowed({"name": "sizes", "by": "item", "error": 0.05, **numbers}, "wiki"),
    ]
    asked[1] = asked[1] | {"window": "3h"}
    deployed = deploy(source=WIKI, monitors=asked)
    wiki(traces, deployed.home / "data", 6)
    deployed.run(0, 2)
    deployed.run(2, 6)
    for monitor in asked:
        assert_equals_simulation(deployed, monitor["name"], tmp_path / monitor["name"])


def test_what_is_different_on_zeek(deploy: Deploy, traces: Path, tmp_path: Path) -> None:
    heavy = {"question": "distinct-heavy-hitters", "by": "src", "share": 0.01, "error": 0.002}
    asked = [
        *(shadowed(monitor, "dns") for monitor in DISTINCT),
        shadowed({"name": "widest", **heavy}, "dns"),
    ]
    asked[1] = asked[1] | {"window": "6m"}
    deployed = deploy(source=ZEEK, monitors=asked)
    with lzma.open(traces / "zeek_dns_wrccdc_2018-03-24.csv.xz", "rt") as trace:
        (deployed.home / "data/dns.csv").write_text(trace.read())
    deployed.run(0, 5)
    deployed.run(5, 12)
    for monitor in asked:
        assert_equals_simulation(deployed, monitor["name"], tmp_path / monitor["name"])
