"""`farwatch inspect --what state` shows what proves the published set: a method's certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobs.looking.inspection import inspect
from tests.jobs.sealed_home import BUSIEST, SealedHome, bought

UNITS = 1024


@pytest.fixture
def home(tmp_path: Path) -> SealedHome:
    shop = SealedHome(
        tmp_path, monitors=[BUSIEST | {"method": "margins", "shadow": ["constraints", "requery"], "tolerance": 1}]
    )
    shop.land([*bought(0, north="aaaab", south="ccdb"), *bought(1, north="a", south="cd"), *bought(2, south="dd")])
    shop.run(0, 3)
    return shop


def state_of(home: SealedHome, method: str, node: str = "@coordinator") -> dict[str, Any]:
    [state] = inspect(home.context(), "busiest", None, "state", node, method).records
    return dict(state["content"])


@pytest.mark.parametrize("method", ["margins", "requery"])
def test_the_two_sides_of_the_test_are_shown(home: SealedHome, method: str) -> None:
    state = state_of(home, method)
    assert state["outsider_high"] <= state["member_low"] + 1
    text = home.command("inspect", "busiest", "--what", "state", "--method", method).stdout
    assert f"  member_low: {state['member_low']}\n" in text
    assert f"  outsider_high: {state['outsider_high']}\n" in text
    assert "why its answer is valid: By what the sites have told, no item outside the list exceeds" in text


def test_the_slack_of_every_constraint_is_shown_and_is_what_the_factors_give(home: SealedHome) -> None:
    slacks = dict(state_of(home, "constraints")["slacks"])
    assert slacks.keys() == {"@coordinator", "north", "south"}
    assert min(slacks.values()) >= 0
    text = home.command("inspect", "busiest", "--what", "state", "--method", "constraints").stdout
    assert (
        f"slacks (3): @coordinator {slacks['@coordinator']}, north {slacks['north']}, south {slacks['south']}" in text
    )
    north = state_of(home, "constraints", "north")
    sums, factors = dict(north["sums"]), dict(north["factors"])
    adjusted = {name: UNITS * sums.get(name, 0) + factors.get(name, 0) for name in {*sums, *factors}}
    lowest = min(adjusted.get(name, 0) for name in north["members"])
    highest = max(0, *(value for name, value in adjusted.items() if name not in north["members"]))
    assert lowest - highest == slacks["north"]  # nothing has happened there since its factors were set
