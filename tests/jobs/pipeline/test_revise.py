"""Late rows and corrections: a revision goes over the old one, both stay readable, what follows is chained anew."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from typer.testing import CliRunner

from jobs.command.cli import app
from jobs.lake.seals import Seal
from jobs.looking.sql import asked
from monitoring_lib.epochs import to_microseconds
from monitoring_lib.errors import EpochGapError
from monitoring_lib.tables import ANSWERS, DRAFTS, LANDINGS
from tests.jobs.pipeline.deployment import BUSIEST, HOUR, ONE_PARTITION, RECENT, Deployment, shopping

pytestmark = pytest.mark.spark
Deploy = Callable[..., Deployment]
MONITORS = (BUSIEST | {"method": "margins"}, RECENT)
EPOCHS = 4
LATE = [(HOUR + second, "site 1", "came late", 5) for second in range(200)]
REASON = "late rows of site 1; 'quoted'"


def test_late_rows_wait_for_a_revision_which_leaves_both_answers_and_chains_what_follows_anew(deploy: Deploy) -> None:
    home = deploy(monitors=MONITORS, settings=ONE_PARTITION)
    for hour, rows in shopping(21, EPOCHS).items():
        home.add_file(f"{hour}.csv", rows)
    home.run(0, EPOCHS)
    old, old_answers, published = seals(home), drafts(home, seals(home)), by_revision(home)

    # Late rows land, and change nothing that is sealed.
    home.add_file("late.csv", LATE)
    home.run(EPOCHS, EPOCHS + 1)
    assert seals(home)[:EPOCHS] == old
    [landing] = [row for row in home.rows(LANDINGS) if row["path"].endswith("late.csv")]
    assert (landing["read"], landing["landed"], landing["late"]) == (len(LATE), len(LATE), len(LATE))

    # Their epoch is revised alone: what follows no longer follows from it, and may not be gone on from.
    named = {"FARWATCH_HOME": str(home.home), "FARWATCH_CONF": str(home.home / "conf")}
    arguments = ["--source", "shop", "--from", "2020-01-01T01:00", "--to", "2020-01-01T02:00", "--revise", REASON]
    done = CliRunner().invoke(app, ["run", *arguments], env=named)
    assert done.exit_code == 0, done.exception
    with pytest.raises(EpochGapError, match="epoch 2020-01-01T02:00Z goes on from a state that has been revised"):
        home.run(EPOCHS + 1, EPOCHS + 2)
    replay = r"--from 2020-01-01T02:00Z --to 2020-01-01T05:00Z --monitors [\w,]+ --revise"
    with pytest.raises(EpochGapError, match=replay):
        home.run(3, EPOCHS, revise="too far on")
    status = home.command("status").stdout
    assert "stale from epoch 2020-01-01T02:00Z on: the epoch before it was revised since" in status
    assert re.search(replay, status)

    # The replay makes all as if the rows had been on time.
    home.run(2, EPOCHS + 1, revise="the epoch before was revised")
    on_time = deploy("on time", monitors=MONITORS, settings=ONE_PARTITION)
    for path in (home.home / "data").iterdir():
        (on_time.home / "data" / path.name).write_bytes(path.read_bytes())
    on_time.run(0, EPOCHS + 1)
    new = seals(home)
    assert home.digests() == on_time.digests()
    assert [seal.revision for seal in new] == [0, 1, 1, 1, 1]
    assert [seal.reason for seal in new] == ["", REASON, *["the epoch before was revised"] * 3]
    assert all(seal.parent == before.digest for before, seal in pairwise(new))
    assert "stale" not in home.command("status").stdout

    # Both answers stay readable.
    assert drafts(home, old) == old_answers
    both, clean = by_revision(home), by_revision(on_time)[0]
    assert {key: both[0][key] for key in published[0]} == published[0]
    assert both[1] == {key: rows for key, rows in clean.items() if key[1] != old[0].epoch_start}
    assert any(row["key"] == "came late" for row in both[1]["busiest", old[1].epoch_start])
    assert not any(row["key"] == "came late" for rows in both[0].values() for row in rows)
    sql = "SELECT revision, current, count(*) FROM answers WHERE monitor = 'recent' GROUP BY ALL ORDER BY ALL"
    with asked(home.context().lake, sql) as (_, counted):
        assert list(counted) == [(0, False, 8), (0, True, 2), (1, True, 8)]


def seals(home: Deployment) -> list[Seal]:
    return home.context().lake.ledger.seals("shop", "busiest")


def drafts(home: Deployment, named: list[Seal]) -> list[str]:
    rows = home.context().lake.sealed(DRAFTS, named, ["drafts"], [("monitor", "=", named[0].monitor)])
    return sorted(map(repr, rows.to_pylist()))


def by_revision(home: Deployment) -> dict[int, dict[tuple[str, int], list[dict[str, Any]]]]:
    """The published answers by revision, then by monitor and epoch."""
    found: dict[int, dict[tuple[str, int], list[dict[str, Any]]]] = {}
    for row in sorted(home.rows(ANSWERS), key=lambda row: (row["rank"] or 0, row["key"])):
        epoch = row["monitor"], to_microseconds(row["epoch_start"])
        content = {name: row[name] for name in ("key", "rank", "estimate", "low", "high", "confidence", "tick")}
        found.setdefault(row["revision"], {}).setdefault(epoch, []).append(content)
    return found
