"""Sites that have left, by the source's rule or by hand: answers do not wait for them, and no count is lost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from jobs.epoch.chain import cursor_of
from jobs.lake.seals import Seal
from monitoring_lib.epochs import to_microseconds
from monitoring_lib.tables import ANSWERS
from tests.jobs.sealed_home import SOURCE, SealedHome, bought

DIES, PATIENCE, END = 1, 2, 7
DEAD = {"south": "silent"}
MONITORS = tuple(
    {"name": name, "question": "top-k", "source": "shop", "k": 3, "tolerance": 0, "method": method, **more}
    for name, method, more in (
        ("busiest", "margins", {}), ("recent", "margins", {"window": "3h"}), ("held", "constraints", {"window": "2h"}),
    )
)  # fmt: skip
WINDOWS = {"busiest": 100, "recent": 3, "held": 2}


def made(home: Path, **source: Any) -> SealedHome:
    """Two sites, of which one is silent from the second epoch on, and back in the last."""
    made = SealedHome(home, MONITORS, SOURCE | source)
    for hour in range(END):
        south = "cccb" if hour < DIES or hour == END - 1 else ""
        made.land(bought(hour, north="aab"[hour % 2 :], south=south), f"data/{hour}.csv")
    return made


def run(home: SealedHome, first: int, last: int) -> None:
    for hour in range(first, last):
        home.run(hour, hour + 1, missing=DEAD if DIES <= hour < END - 1 else {})


def seals(home: SealedHome, monitor: str = "recent") -> list[Seal]:
    return home.context().lake.ledger.seals("shop", monitor)


def assert_exact(home: SealedHome, monitor: str, hour: int) -> None:
    """Every row holds the exact count over all that has landed for its window, and none is partial."""
    start = home.context().config.source("shop").clock.start_of(hour)
    rows = [
        row for row in home.context().lake.centre.read(ANSWERS, [("monitor", "=", monitor)]).to_pylist()
        if to_microseconds(row["epoch_start"]) == start
    ]  # fmt: skip
    counts = Counter(item for at, _, item in home.events if hour - WINDOWS[monitor] < at <= hour)
    assert rows
    for row in rows:
        assert not row["partial"]
        assert row["low"] <= counts[row["key"]] <= row["high"]


def test_a_site_that_is_silent_for_long_leaves_and_is_back_with_its_first_event(tmp_path: Path) -> None:
    home = made(tmp_path, retire="2 epochs")
    run(home, 0, END)
    leaves = DIES + PATIENCE
    found = seals(home)
    assert [list(seal.missing_sites) for seal in found] == [
        ["south"] if DIES <= hour < leaves else [] for hour in range(END)
    ]
    said = {hour: seal.reason for hour, seal in enumerate(found) if seal.reason}
    assert said == {leaves: "retired: 'south'", END - 1: "back: 'south'"}
    assert cursor_of(home.context().lake, found[leaves]).retired == ("south",)
    assert cursor_of(home.context().lake, found[-1]).retired == ()
    for monitor in WINDOWS:
        for hour in (leaves, leaves + 1, END - 2, END - 1):
            assert_exact(home, monitor, hour)


def test_a_range_at_once_retires_as_epoch_by_epoch(tmp_path: Path) -> None:
    single, whole = (made(tmp_path / name, retire=PATIENCE) for name in ("single", "whole"))
    run(single, 0, END - 1)
    whole.run(0, DIES)
    whole.run(DIES, END - 1, missing=DEAD)
    for monitor in WINDOWS:
        assert [seal.digest for seal in seals(whole, monitor)] == [seal.digest for seal in seals(single, monitor)]


def test_by_hand_it_leaves_with_the_next_epoch(tmp_path: Path) -> None:
    home = made(tmp_path)
    run(home, 0, 3)
    asked = home.command("retire", "shop", "--site", "south", "--reason", "its link is closed")
    assert asked.returncode == 0, asked.stderr
    assert "is retired from epoch 2020-01-01T03:00Z on" in asked.stderr
    run(home, 3, 5)
    assert [list(seal.missing_sites) for seal in seals(home)][1:] == [["south"], ["south"], [], []]
    assert seals(home)[3].reason == "retired: 'south'"
    assert_exact(home, "recent", 3)
    assert "was retired before" in home.command("retire", "shop", "--site", "south", "--reason", "again").stderr


def test_a_site_that_nobody_knows_cannot_be_retired(tmp_path: Path) -> None:
    home = made(tmp_path)
    run(home, 0, 1)
    refused = home.command("retire", "shop", "--site", "soutj", "--reason", "gone")
    assert refused.returncode == 2
    assert "'soutj' is not known to any monitor of shop; did you mean 'south'?" in refused.stderr
