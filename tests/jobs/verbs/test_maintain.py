"""Maintenance: dead rows and small files go, sealed content stays, also if killed, also beside a running epoch."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from unittest.mock import patch

import pytest

from jobs.epoch.context import Context
from jobs.epoch.handover import Handover
from jobs.lake import upkeep
from jobs.lake.content import digest_rows
from jobs.lake.site_tables import SiteTables
from jobs.lake.write_ids import begun_at, new_write
from jobs.verbs.maintain import maintain
from monitoring_lib.epochs import to_datetime
from monitoring_lib.errors import StorageError
from monitoring_lib.tables import DRAFTS, MESSAGES, TABLES, WRITES, Table
from tests.jobs.sealed_home import BUSIEST, SealedHome, bought

HOURS = 6
FAR = 4 * 10**15
DAYS_8 = 8 * 24 * 3_600_000_000
MONITORS = (BUSIEST, BUSIEST | {"name": "recent", "window": "3h", "method": "margins"})


class Killed(BaseException):
    """What ends maintenance right after a commit."""


def later() -> int:
    """A time at which everything that nobody sealed is dead."""
    return time.time_ns() // 1000 + DAYS_8


def contents(home: SealedHome) -> dict[str, str]:
    """The digest of every table's rows, whoever wrote them."""
    lake = home.context().lake
    return {name: digest_rows(table, lake.store_of(table).read(table)) for name, table in TABLES.items()}


def files(home: SealedHome, table: Table) -> int:
    found = home.context().lake.store_of(table).open(table)
    assert found is not None
    return len(found.file_uris())


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> SealedHome:
    """A chain of single epochs whose tables nobody has kept."""
    home = SealedHome(tmp_path_factory.mktemp("built"), MONITORS)
    home.land([event for hour in range(HOURS) for event in bought(hour, north="aab" * (hour % 3 + 1), south="bcc")])
    with pytest.MonkeyPatch.context() as quiet:
        quiet.setattr(upkeep, "CHECKPOINT_EVERY", 10**6)
        for hour in range(HOURS - 1):
            home.run(hour, hour + 1)
    return home


@pytest.fixture
def home(built: SealedHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SealedHome:
    """A copy of it; what Spark would do at the sites' tables is left out."""
    for name in ("drop_writes", "compact", "vacuum"):
        monkeypatch.setattr(SiteTables, name, lambda *_: None)
    shutil.copytree(built.home, tmp_path / "home")
    return replace(built, home=tmp_path / "home", events=list(built.events))


def leave_dead_rows(home: SealedHome) -> str:
    """A run that ended before its seal."""
    with patch("tests.jobs.sealed_home.seal_epochs", side_effect=Killed), pytest.raises(Killed):
        home.run(HOURS - 1, HOURS)
    lake = home.context().lake
    (dead,) = set(lake.centre.read(DRAFTS)["write"].to_pylist()) - lake.ledger.named_writes()
    return dead


def test_an_id_says_when_its_write_began() -> None:
    before = time.time_ns() // 1000
    began = begun_at(new_write("land"))
    assert began is not None
    assert before - 1000 <= began <= time.time_ns() // 1000
    assert begun_at("land-0b54e3f2a4b84d8f9d2f6d7f7a0c9e55") is None
    assert len({new_write("land") for _ in range(1000)}) == 1000


def test_files_become_few_and_every_row_stays(home: SealedHome) -> None:
    before, chain = contents(home), home.context().lake.ledger.links("shop", "busiest", 0, FAR)
    found = {one.table.name: one for one in maintain(home.context().lake)}
    assert found["messages"].small > 1
    assert (files(home, MESSAGES), files(home, WRITES)) == (1, 1)
    assert contents(home) == before
    assert home.context().lake.ledger.links("shop", "busiest", 0, FAR) == chain
    assert not any(one.is_due for one in maintain(home.context().lake) if not one.table.at_sites)
    home.run(HOURS - 1, HOURS)


def test_killed_after_any_commit_it_leaves_the_sealed_content_as_it_was(home: SealedHome) -> None:
    dead = leave_dead_rows(home)
    sealed = sealed_contents(home)
    died: list[str] = []

    def committed(table: str) -> None:
        died.append(table)
        raise Killed

    for _ in range(100):
        context = home.context()
        context.lake.centre.committed = committed
        try:
            maintain(context.lake, now=later())
            break
        except Killed:
            assert sealed_contents(home) == sealed
    assert sealed_contents(home) == sealed
    assert {"drafts", "messages", "writes", "epochs"} < set(died)
    assert died.count("drafts") == 2  # the dead rows, then the small files
    assert dead not in home.context().lake.centre.read(DRAFTS)["write"].to_pylist()


def sealed_contents(home: SealedHome) -> dict[str, str]:
    """The digest of the rows that seals name, or that count without."""
    lake = home.context().lake
    named = sorted(lake.ledger.named_writes())
    return {
        name: digest_rows(table, lake.of_writes(table, named) if table.by_seal else lake.centre.read(table))
        for name, table in TABLES.items()
    }


def test_rows_of_dead_writes_go_once_they_are_old_and_not_before(home: SealedHome) -> None:
    dead = leave_dead_rows(home)
    rows = home.context().lake.centre.read(DRAFTS)["write"].to_pylist()
    maintain(home.context().lake)
    assert sorted(home.context().lake.centre.read(DRAFTS)["write"].to_pylist()) == sorted(rows)
    found = {one.table.name: one for one in maintain(home.context().lake, now=later())}
    assert found["drafts"].dead_rows == rows.count(dead)
    assert sorted(home.context().lake.centre.read(DRAFTS)["write"].to_pylist()) == sorted(
        write for write in rows if write != dead
    )


def test_beside_a_running_epoch_it_changes_nothing(home: SealedHome, tmp_path: Path) -> None:
    quiet = SealedHome(tmp_path / "quiet", MONITORS)
    quiet.land(home.events)
    quiet.run(0, HOURS)

    def between(handover: Handover) -> Handover:
        maintain(home.context().lake)
        return Handover.from_json(handover.to_json())

    home.between = between
    home.run(HOURS - 1, HOURS)
    assert digests(home.context()) == digests(quiet.context())
    assert contents(home)["answers"] == contents(quiet)["answers"]


def digests(context: Context) -> list[str]:
    return [link.digest for name in ("busiest", "recent") for link in context.lake.ledger.links("shop", name, 0, FAR)]


def test_a_file_that_no_table_knows_goes_once_it_is_old(home: SealedHome) -> None:
    folder = home.home / "var/coordinator/drafts"
    for name, age in (("old.parquet", 8), ("young.parquet", 1)):
        (folder / name).write_bytes(b"left by a writer that was killed")
        os.utime(folder / name, (time.time() - age * 86_400,) * 2)
    checksum = home.home / "var/sites/events/day=2020-01-01/.part-0.parquet.crc"
    checksum.write_bytes(b"as Spark keeps them")
    os.utime(checksum, (time.time() - 8 * 86_400,) * 2)
    found = {one.table.name: one for one in maintain(home.context().lake, dry_run=True)}
    assert (found["drafts"].unneeded, found["drafts"].unneeded_bytes) == (1, 32)
    assert found["events"].unneeded == 0
    maintain(home.context().lake)
    assert not (folder / "old.parquet").exists()
    assert (folder / "young.parquet").exists()


def test_a_dry_run_says_what_would_be_done_and_does_nothing(home: SealedHome) -> None:
    lake = home.context().lake
    before = {table.name: files(home, table) for table in TABLES.values() if lake.store_of(table).open(table)}
    said = home.command("maintain", "--dry-run", "--json")
    assert said.returncode == 0, said.stderr
    told = json.loads(said.stdout)
    assert told["dry_run"] is True
    assert told["stale"] == []
    messages = next(one for one in told["tables"] if one["table"] == "messages")
    assert messages["small_files"] == messages["files"] == before["messages"]
    assert {table.name: files(home, table) for table in TABLES.values() if table.name in before} == before
    assert "would take out" in home.command("maintain", "shop", "--dry-run").stdout


def test_a_stale_chain_is_listed_with_its_remedy(home: SealedHome) -> None:
    home.land(bought(3, north="z"), "data/late.csv")
    told = json.loads(home.command("maintain", "--dry-run", "--json").stdout)
    assert [one["monitor"] for one in told["stale"]] == ["busiest", "recent"]
    assert told["stale"][0]["remedy"].startswith("farwatch run --source shop --from 2020-01-01T03:00Z")


def test_before_anything_is_sealed_there_is_nothing_to_do(tmp_path: Path) -> None:
    home = SealedHome(tmp_path / "new", MONITORS)
    done = home.command("maintain", "shop")
    assert (done.returncode, "nothing is due" in done.stdout) == (0, True), done.stderr
    home.land(bought(0, north="ab"))
    done = home.command("maintain", "shop", "--dry-run")
    assert done.returncode == 0, done.stderr


def test_of_the_sites_tables_the_newest_two_days_are_left_alone(
    home: SealedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, Sequence[date]]] = []
    monkeypatch.setattr(SiteTables, "compact", lambda _, table, days, size: asked.append((table.name, days)))
    for day in range(1, 4):
        home.land(bought(24 * day, north="a"), f"data/{day}-1.csv")
        home.land(bought(24 * day + 1, north="a"), f"data/{day}-2.csv")
    maintain(home.context().lake)
    start = to_datetime(home.context().config.source("shop").origin).date()
    assert dict(asked)["events"] == (date(start.year, start.month, start.day + 1),)


def test_on_a_full_disk_the_engine_is_not_asked_to_rewrite_a_table_and_the_error_names_it(
    home: SealedHome, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    dead = leave_dead_rows(home)
    before = contents(home)
    for now in (time.time_ns() // 1000, later()):  # small files, then dead rows
        with monkeypatch.context() as full:
            full.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1 << 30, 1 << 30, 0))
            with pytest.raises(StorageError, match=r"coordinator/\w+ cannot be written: the disk is full"):
                maintain(home.context().lake, now=now)
        assert "panicked" not in capfd.readouterr().err
    assert contents(home) == before
    maintain(home.context().lake, now=later())
    assert dead not in home.context().lake.centre.read(DRAFTS)["write"].to_pylist()
