"""Every kind of family that the interfaces carry goes through the pipeline, in both places, as the simulator says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.pipeline.deployment import Deployment
from tests.jobs.pipeline.test_equals_simulation import assert_equals_simulation

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.long, pytest.mark.usefixtures("toys")]
Deploy = Callable[..., Deployment]

SOURCE = {
    "name": "plant", "format": "csv", "path": "data/*.csv", "epoch": "1m", "origin": "2024-05-01",
    "columns": {"time": "time", "site": "site", "item": "item", "value": "value", "by": "by"},
}  # fmt: skip
CHECKED = SOURCE | {"quality": {"nulls": {"value": 0.5}}}
"""Here a site without readings is set aside."""
MONITORS: list[dict[str, Any]] = [
    {"question": "distinct-pairs", "by": "by"},
    {"question": "mean-reading", "measure": "last(value)", "window": "1m", "tick": "10s"},
    {"question": "mean-reading", "measure": "mean(value)", "window": "1m", "tick": "10s", "name": "means"},
    {"question": "distinct-items", "shadow": ["exact"], "options": {"sketching": {"bitmaps": 256}}},
    {"question": "recent-count", "watched": "x", "range": 9, "window": "2m", "tick": "10s"},
    {"question": "event-total"},
    {"question": "shared-total"},
]
ASKED = [{"name": one["question"], "source": "plant", **one} for one in MONITORS]
EPOCHS = 4


def add_events(deployed: Deployment) -> None:
    """Two keys, null readings, a branch that falls silent, sites that join late, one epoch of `s0` without readings."""
    lines = ["time,site,item,by,value"]
    for second in range(60 * EPOCHS):
        site = second * 7 % (3 + second // 60)
        if site == 1 and second >= 120:
            continue
        lacking = second % 5 == 0 or (site == 0 and 120 <= second < 180)
        texts = [f"s{site}", "xyz"[second % 3], str(second * 7919 % 11), "" if lacking else str(second % 13)]
        lines.append(",".join([f"2024-05-01T00:{second // 60:02}:{second % 60:02}Z", *texts]))
    (deployed.home / "data" / "all.csv").write_text("\n".join([*lines, ""]), "utf-8")


@pytest.mark.parametrize("place", ["process", "spark"])
def test_every_toy_equals_the_simulator(deploy: Deploy, tmp_path: Path, place: str) -> None:
    deployed = deploy(source=SOURCE, monitors=ASKED, settings={"sites_run": place})
    add_events(deployed)
    deployed.run(0, 1)
    deployed.run(1, EPOCHS)
    for monitor in ASKED:
        assert_equals_simulation(deployed, monitor["name"], tmp_path / monitor["name"])


def test_every_toy_goes_on_alike_in_both_places_while_a_site_is_missing(deploy: Deploy) -> None:
    found = []
    for place in ("process", "spark"):
        deployed = deploy(place, source=CHECKED, monitors=ASKED, settings={"sites_run": place})
        add_events(deployed)
        deployed.run(0, 2)
        deployed.run(2, EPOCHS)
        seals = deployed.context().lake.ledger.seals("plant", "shared-total")
        assert [seal.missing_sites for seal in seals] == [[], [], ["s0"], []]
        found.append(deployed.digests())
    assert len(found[0]) == len(ASKED) * EPOCHS
    assert found[0] == found[1]
