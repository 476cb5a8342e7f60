"""A backfill: summarised at once, committed in chunks, gone on with after a kill, and row for row as epoch by epoch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from jobs.command import chunks
from jobs.command.run import STEPS, run
from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from jobs.lake.content import digest_rows
from monitoring_lib.tables import ANSWERS
from tests.jobs.sealed_home import BUSIEST, SealedHome, bought
from tests.jobs.sealed_run import summarise

EPOCHS = 7
MONITORS = (BUSIEST, BUSIEST | {"name": "recent", "window": "3h", "method": "margins"})
EVENTS = [event for hour in range(EPOCHS) for event in bought(hour, north="aab" * (hour % 3), south="bcc"[hour % 2 :])]


class Killed(BaseException):
    """What ends a run."""


@pytest.fixture(scope="module")
def one_by_one(tmp_path_factory: pytest.TempPathFactory) -> SealedHome:
    home = SealedHome(tmp_path_factory.mktemp("single"), MONITORS)
    home.land(EVENTS)
    for epoch in range(EPOCHS):
        home.run(epoch, epoch + 1)
    return home


@pytest.fixture
def home(tmp_path: Path) -> SealedHome:
    home = SealedHome(tmp_path, MONITORS)
    home.land(EVENTS)
    return home


@pytest.fixture
def spark_jobs(home: SealedHome, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[int, int]]]:
    """The ranges that were summarised ahead; two epochs make a chunk, and this process stands in for Spark."""
    asked: list[tuple[int, int]] = []

    def write_synopses(context: Context, handover: Handover) -> bool:
        clock = context.config.source("shop").clock
        asked.append((clock.epoch_of(handover.start), clock.epoch_of(handover.end)))
        summarise(context, handover, home.events)
        return True

    def landed(context: Context, handover: Handover) -> None:
        handover.landing = home.landing

    monkeypatch.setattr(chunks, "MOST_EPOCHS", 2)
    monkeypatch.setattr(chunks, "write_synopses", write_synopses)
    steps = {"land": landed, "summarise": lambda *_: None, "alert": lambda *_: None}
    with ExitStack() as stand_ins:
        stand_ins.enter_context(patch.dict(STEPS, steps))
        for name, stand_in in home._stand_ins(range(EPOCHS), {}).items():
            stand_ins.enter_context(patch(name, stand_in))
        yield asked


def backfill(home: SealedHome, **given: Any) -> None:
    context = home.context()
    clock = context.config.source("shop").clock
    run(context, Handover.begin("shop", clock, clock.start_of(0), clock.start_of(EPOCHS), []), **given)


def content(home: SealedHome) -> list[Any]:
    """The digests of both chains, which cover everything that is sealed, and what is published."""
    lake = home.context().lake
    seals = [seal for name in ("busiest", "recent") for seal in lake.ledger.seals("shop", name)]
    answers = lake.centre.read(ANSWERS)
    return [
        *((seal.monitor, seal.epoch_start, seal.digest, seal.revision) for seal in seals),
        digest_rows(ANSWERS, answers),
    ]


def test_it_seals_what_epoch_by_epoch_seals_and_summarises_once(
    home: SealedHome, one_by_one: SealedHome, spark_jobs: list[tuple[int, int]]
) -> None:
    backfill(home)
    assert content(home) == content(one_by_one)
    assert spark_jobs == [(0, EPOCHS)]
    commits = {seal.version for seal in home.context().lake.ledger.seals("shop", "busiest")}
    assert len(commits) == -(-EPOCHS // 2)


def test_killed_it_goes_on_behind_the_last_sealed_chunk(
    home: SealedHome, one_by_one: SealedHome, spark_jobs: list[tuple[int, int]]
) -> None:
    heard: list[chunks.EpochChunk] = []

    def done(chunk: chunks.EpochChunk) -> None:
        heard.append(chunk)
        if len(heard) == 2:
            raise Killed

    with pytest.raises(Killed):
        backfill(home, done=done)
    before = content(home)[:-1]
    assert len(before) == 2 * 4
    backfill(home)
    assert set(before) < set(content(home)[:-1])
    assert content(home) == content(one_by_one)
    backfill(home)
    assert content(home) == content(one_by_one)
    assert len(spark_jobs) == 2


def test_killed_inside_a_chunk_it_does_that_chunk_again(
    home: SealedHome, one_by_one: SealedHome, spark_jobs: list[tuple[int, int]]
) -> None:
    validate, seen = STEPS["validate"], list[int]()

    def dies(context: Context, handover: Handover) -> None:
        seen.append(handover.start)
        if len(seen) == 3:
            raise Killed
        validate(context, handover)

    with patch.dict(STEPS, {"validate": dies}), pytest.raises(Killed):
        backfill(home)
    assert len(home.context().lake.ledger.seals("shop", "recent")) == 4
    backfill(home)
    assert content(home) == content(one_by_one)


def test_a_chunk_ends_where_its_synopses_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MOST_EPOCHS", 3)
    monkeypatch.setattr(chunks, "MOST_BYTES", 100)
    sizes = dict(enumerate([10, 10, 10, 10, 95, 200, 1, 0, 0, 0]))
    assert list(chunks._cut(sizes, 1)) == [(0, 3), (3, 4), (4, 5), (5, 6), (6, 9), (9, 10)]


def test_a_dry_run_says_epochs_rows_minutes_and_bytes(home: SealedHome) -> None:
    home.run(0, 2)
    (home.home / "data/more.csv").write_text("time,site,item,value\n")
    span = ["backfill", "shop", "--from", "2020-01-01", "--to", "2020-01-01T07:00", "--dry-run"]
    asked = home.command(*span, "--json")
    assert asked.returncode == 0, asked.stderr
    told = json.loads(asked.stdout)
    assert (told["epochs"], told["sealed"], told["first"]) == (7, 2, "2020-01-01T02:00Z")
    assert told["rows"] == sum(1 for hour, _, _ in EVENTS if hour >= 2)
    assert told["waiting_files"] == 1
    assert told["minutes"] > 0
    assert told["bytes"] > 0
    assert len(home.context().lake.ledger.seals("shop", "busiest")) == 2
    text = home.command(*span).stdout
    assert "7 epochs up to 2020-01-01T07:00Z, 2 of them sealed; goes on at 2020-01-01T02:00Z" in text
    assert "1 file (21 B) of the source to be landed first" in text
