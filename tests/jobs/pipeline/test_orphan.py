"""A run that was given up goes on after another has sealed its epochs: no reader sees anything of what it writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs.looking.sql import asked
from monitoring_lib.errors import AlreadySealed
from monitoring_lib.tables import ALERTS, LANDINGS
from tests.jobs.pipeline.deployment import BUSIEST, HOUR, ONE_PARTITION, RECENT, Deployment, shopping

pytestmark = pytest.mark.spark
MONITORS = (BUSIEST | {"shadow": ["margins"]}, RECENT | {"measure": "count"})
VIEWS = (
    "epochs", "answers", "arrivals", "cursors", "plans", "messages", "outbox", "states", "site_states", "rosters",
    "verdicts", "synopses", "validations", "landings", "events", "quarantine", "alerts",
)  # fmt: skip


class Orphan:
    """A run that falls asleep right after its first commit to a table, while something else happens."""

    def __init__(self, home: Deployment, table: str, meanwhile: Callable[[], None]) -> None:
        self.home = home
        self.table = table
        self.meanwhile = meanwhile
        self.asleep = False
        self.written: list[str] = []
        """The tables that it committed to after it woke up."""

    def _committed(self, table: str) -> None:
        if self.asleep:
            self.written.append(table)
        elif table == self.table:
            self.asleep = True
            self.meanwhile()

    def run(self, epoch: int) -> None:
        self.home.run(epoch, epoch + 1, context=self.home.watched(self._committed))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, spark_remote: str) -> Deployment:
    """The first epoch is sealed. The tests share it, in any order, each with the next epoch that is not."""
    home = Deployment(tmp_path_factory.mktemp("orphans") / "home", monitors=MONITORS, settings=ONE_PARTITION)
    home.add_file("0.csv", shopping(11, 1)[0])
    home.run(0, 1)
    return home


def next_epoch(home: Deployment) -> int:
    return len(home.context().lake.ledger.seals("shop", MONITORS[0]["name"]))


def orphan_of(home: Deployment, epoch: int, table: str, seen: dict[str, Any]) -> Orphan:
    """While it sleeps, another run, which knows more, seals its epoch; what readers see then goes into `seen`."""
    home.add_file(f"{epoch}.csv", shopping(11, epoch + 1)[epoch])

    def overtake() -> None:
        rows = [(epoch * HOUR + at, "site 1", f"only the other run of {epoch} knows", 3) for at in range(99 * epoch)]
        home.add_file(f"{epoch} more.csv", rows)
        home.run(epoch, epoch + 1)
        seen.update(readers_see(home))
        assert any(f"only the other run of {epoch} knows" in row for row in seen["answers"])

    return Orphan(home, table, overtake)


def readers_see(home: Deployment) -> dict[str, Any]:
    """All that the ledger, the published answers and a user's SQL show."""
    shown: dict[str, Any] = {"digests": home.digests(), "published": home.published()}
    lake = home.context().lake
    for view in VIEWS:
        with asked(lake, f"SELECT * FROM {view}") as (_, rows):
            shown[view] = sorted(map(repr, rows))
    return shown


def test_an_orphan_that_was_landing_lands_nothing_twice(home: Deployment) -> None:
    seen: dict[str, Any] = {}
    epoch = next_epoch(home)
    orphan = orphan_of(home, epoch, "events", seen)
    orphan.run(epoch)
    assert "landings" in orphan.written
    assert readers_see(home) == seen
    journal = home.context().lake.ledger.journal("shop", home.context().config.source("shop").clock)
    landings = home.context().lake.of_writes(LANDINGS, [seal.write for seal in journal]).to_pylist()
    names = Counter(Path(row["path"]).name for row in landings)
    assert set(names.values()) == {1}
    rows = {Path(row["path"]).name: row["landed"] for row in landings}
    assert (rows[f"{epoch}.csv"], rows[f"{epoch} more.csv"]) == (60, 99 * epoch)
    assert set(rows) >= {"0.csv", f"{epoch}.csv", f"{epoch} more.csv"}


@pytest.mark.parametrize(
    ("table", "then"),
    [
        ("synopses", {"site_states", "outbox", "messages", "states", "cursors", "drafts", "validations", "writes"}),
        ("messages", {"messages", "states", "cursors", "drafts", "validations", "writes"}),
        ("validations", set()),
    ],
    ids=["before the sites observe", "while they observe", "right before its seal"],
)
def test_what_an_orphan_writes_after_the_seal_is_seen_by_nobody(home: Deployment, table: str, then: set[str]) -> None:
    seen: dict[str, Any] = {}
    epoch = next_epoch(home)
    orphan = orphan_of(home, epoch, table, seen)
    with pytest.raises(AlreadySealed, match="sealed by another run since this one began"):
        orphan.run(epoch)
    assert set(orphan.written) == then
    assert readers_see(home) == seen
    assert home.rows(ALERTS) == []


def test_the_next_run_goes_on_from_the_seals_and_not_from_what_orphans_left(home: Deployment) -> None:
    epoch = next_epoch(home)
    home.run(epoch, epoch + 1)
    alone = Deployment(home.home.with_name("alone"), monitors=MONITORS, settings=ONE_PARTITION)
    for path in (home.home / "data").iterdir():
        (alone.home / "data" / path.name).write_bytes(path.read_bytes())
    alone.run(0, epoch + 1)
    assert len(home.digests()) == (epoch + 1) * len(MONITORS)
    assert home.digests() == alone.digests()
    assert home.published() == alone.published()
