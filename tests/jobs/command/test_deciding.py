"""Rows that were set aside are owed: answers name them until the printed commands admit or reject them."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

from jobs.command.cli import app
from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from tests.jobs.sealed_home import BUSIEST, SealedHome, bought

MONITORS = [BUSIEST | {"tolerance": 0}, BUSIEST | {"name": "recent", "tolerance": 0, "window": "2h"}]
SOUTH, PRINTED = "so `u`\nth", "so `u`\\nth"
WILD = {SOUTH: "a value is out of range"}
EPOCHS = 5


@pytest.fixture
def shop(tmp_path: Path) -> SealedHome:
    """A site with an odd name is set aside in epochs 1 and 2, with rows in both."""
    made = SealedHome(tmp_path, monitors=MONITORS)
    for hour in range(EPOCHS):
        made.land([*bought(hour, north="aab"), *((hour, SOUTH, item) for item in "cccc"[: hour + 2])])
    made.run(0, 1)
    made.run(1, 3, missing=WILD)
    made.run(3, EPOCHS)
    return made


def invoke(shop: SealedHome, *arguments: str) -> Any:
    """The command in this process, with the steps that stand in for Spark where it replays."""

    def replay(context: Context, handover: Handover) -> None:
        clock = context.config.source("shop").clock
        epochs = range(clock.epoch_of(handover.start), clock.epoch_of(handover.end))
        for epoch in epochs:
            missing = WILD if epoch in (1, 2) else {}
            shop.run(epoch, epoch + 1, missing=missing, revise=handover.revise, only=handover.only)

    with patch("jobs.command.deciding.run", replay):
        return CliRunner().invoke(app, list(arguments), env=shop.environment)


def asked(shop: SealedHome, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(invoke(shop, *arguments, "--json").stdout)
    return found


def counts(shop: SealedHome, monitor: str) -> dict[str, float]:
    return {row["key"]: row["estimate"] for row in asked(shop, "query", monitor)["answers"]}


def test_answers_and_status_name_what_is_owed_for_as_long_as_it_lies_in_the_window(shop: SealedHome) -> None:
    found = asked(shop, "query", "busiest")
    assert found["partial"]
    assert found["says"].startswith("partial, as 7 rows are owed (instead of ")
    assert [(row["site"], row["epoch_start"], row["rows"], row["rejected"]) for row in found["owed"]] == [
        (SOUTH, "2020-01-01T01:00Z", 3, False), (SOUTH, "2020-01-01T02:00Z", 4, False),
    ]  # fmt: skip
    assert not asked(shop, "query", "recent")["partial"]
    assert asked(shop, "query", "recent", "--epoch", "2020-01-01T03:00")["says"].startswith(
        "partial, as 4 rows are owed"
    )
    assert [row["rows"] for row in asked(shop, "status")["sources"][0]["owed"]] == [3, 4]


def test_the_printed_commands_take_rows_in_and_leave_them_out_for_good(shop: SealedHome) -> None:
    status = invoke(shop, "status").stdout.replace("\n", " ")
    [admit, _], [_, reject] = (re.findall(rf"`(farwatch {verb} [^`]*)`", status) for verb in ("admit", "reject"))
    for printed in (admit, reject):
        done = invoke(shop, *shlex.split(printed)[1:])
        assert done.exit_code == 0, done.exception
    found = asked(shop, "query", "busiest")
    assert found["says"].startswith("partial, as 4 rows were rejected (instead of ")
    assert f"site '{PRINTED}' of epoch 2020-01-01T02:00Z rejected: looked at the rows" in found["reason"]
    assert asked(shop, "status")["sources"][0]["owed"] == []
    assert counts(shop, "busiest") == {"c": 2 + 3 + 4 + 4, "a": 2 * EPOCHS}

    # A later revision keeps both decisions, and a command that is given again changes nothing.
    invoke(shop, *shlex.split(admit)[1:])
    for epoch in range(1, EPOCHS):
        shop.run(epoch, epoch + 1, missing=WILD if epoch in (1, 2) else {}, revise="once more")
    again = asked(shop, "query", "busiest")
    assert (again["owed"], again["answers"]) == (found["owed"], found["answers"])
    assert again["revision"] == 3

    # What was rejected can still be admitted, and then nothing is lacking.
    done = invoke(shop, "admit", "shop", "--site", SOUTH, "--epoch", "2020-01-01T02:30", "--reason", "looked again")
    assert done.exit_code == 0, done.exception
    assert not asked(shop, "query", "busiest")["partial"]
    assert counts(shop, "busiest") == {"c": 2 + 3 + 4 + 4 + 4, "a": 2 * EPOCHS}


@pytest.mark.parametrize(
    ("site", "epoch", "reason", "said"),
    [
        ("north", "2020-01-01T01:00", "why", "nothing of site 'north' is owed in epoch 2020-01-01T01:00Z of shop"),
        (SOUTH, "2020-01-01T03:00", "why", f"nothing of site '{PRINTED}' is owed in epoch 2020-01-01T03:00Z"),
        (SOUTH, "2020-01-01T01:00", " ", "--reason is empty"),
        (SOUTH, "soon", "why", "--epoch"),
    ],
)
def test_what_is_not_owed_cannot_be_decided(shop: SealedHome, site: str, epoch: str, reason: str, said: str) -> None:
    done = invoke(shop, "reject", "shop", "--site", site, "--epoch", epoch, "--reason", reason)
    assert said in str(done.exception)
