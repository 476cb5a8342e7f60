"""A method that is chosen in mid-chain and takes in other synopses: it never counts a part as if it were all."""

from __future__ import annotations

from pathlib import Path

from monitoring_lib.tables import ANSWERS
from tests.jobs.sealed_home import SealedHome, bought

MONITOR = {
    "name": "different", "question": "distinct-count", "source": "shop", "item": "item", "error": 0.2,
    "method": "exact",
}  # fmt: skip
EVENTS = [event for hour in range(4) for event in bought(hour, north="abcd"[hour] + "wxyz"[hour], south="efgh"[hour])]


def test_where_synopses_were_never_made_answers_are_partial_until_a_replay_makes_them(tmp_path: Path) -> None:
    home = SealedHome(tmp_path, [MONITOR])
    home.land(EVENTS)
    home.run(0, 1)
    home.run(1, 2)
    home.monitors = [MONITOR | {"method": "no-sharing"}]
    home.configure()
    home.run(2, 3)
    [now] = [row for row in home.context().lake.centre.read(ANSWERS).to_pylist() if row["method"] == "no-sharing"]
    assert now["partial"]
    home.run(0, 3, revise="another method", only=["different"])
    rows = [row for row in home.context().lake.centre.read(ANSWERS).to_pylist() if row["method"] == "no-sharing"]
    found = {row["epoch_start"].hour: row for row in rows if not row["partial"]}
    for hour, exact in enumerate((3, 6, 9)):
        assert found[hour]["low"] <= exact <= found[hour]["high"]
