"""`farwatch alert`: what needs a person is told once, also what a killed run has left to the next one."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from deltalake import DeltaTable

from jobs.epoch.handover import Handover
from jobs.lake import ledger, store
from jobs.looking.recently_stale import RECENT
from jobs.verbs.alert import alert
from monitoring_lib.tables import ALERTS, EPOCHS, VALIDATIONS, Table
from tests.jobs.sealed_home import BUSIEST, SealedHome, bought

SILENT = {"south": "silent for 2 epochs"}
SET_ASIDE = ("", "site is fresh does not hold at site 'south'")
PARTIAL = ("busiest", "the answer is partial")
UNSEALED = ("busiest", "the epoch is not sealed")


@pytest.fixture
def home(tmp_path: Path) -> SealedHome:
    shop = SealedHome(tmp_path)
    shop.land([event for hour in range(3) for event in bought(hour, north="aaaab", south="ccccd")])
    shop.run(0, 1)
    return shop


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that is ours, and at which nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def given(home: SealedHome, first: int, last: int) -> Handover:
    clock = home.context().config.source("shop").clock
    return Handover.begin("shop", clock, clock.start_of(first), clock.start_of(last), [])


def raised(home: SealedHome) -> list[tuple[str, str]]:
    rows = home.context().lake.centre.read(ALERTS).to_pylist()
    return sorted((row["monitor"], row["subject"]) for row in rows)


def test_nothing_is_told_where_nothing_is_wrong(home: SealedHome) -> None:
    alert(home.context(), given(home, 0, 1))
    assert raised(home) == []


def test_what_a_run_found_that_was_killed_after_its_seal_is_told_by_the_next_one(home: SealedHome) -> None:
    home.run(1, 2, missing=SILENT)
    alert(home.context(), given(home, 1, 2))
    assert raised(home) == [SET_ASIDE, PARTIAL]


def test_the_same_trouble_is_told_once(home: SealedHome) -> None:
    home.run(1, 2, missing=SILENT)
    for _ in range(2):
        alert(home.context(), given(home, 0, 3))
    assert raised(home) == [SET_ASIDE, PARTIAL, UNSEALED]


def test_an_epoch_that_lacks_its_seal_is_over_when_it_has_one_and_not_before(home: SealedHome) -> None:
    alert(home.context(), given(home, 1, 2))
    home.run(0, 1, revise="late rows")
    alert(home.context(), given(home, 0, 1))
    assert raised(home) == [UNSEALED]
    home.run(1, 2)
    alert(home.context(), given(home, 1, 2))
    assert home.context().lake.centre.read(ALERTS).sort_by("raised_at")["state"].to_pylist() == ["opened", "closed"]


def test_what_is_neither_sealed_nor_of_this_run_is_not_told(home: SealedHome) -> None:
    home.run(1, 2, missing=SILENT, seal=[])
    home.run(1, 2)
    alert(home.context(), given(home, 1, 2))
    assert raised(home) == []


def test_a_run_that_sealed_nothing_tells_its_own_findings_and_why(home: SealedHome) -> None:
    home.run(1, 2, missing=SILENT, seal=[])
    [write] = {row["write"] for row in home.context().lake.centre.read(VALIDATIONS).to_pylist() if not row["success"]}
    failed = replace(given(home, 1, 2), writes={"gate": write}, failed={"busiest": "drafts are as written: no rows"})
    alert(home.context(), failed)
    assert raised(home) == [SET_ASIDE, UNSEALED]
    [unsealed] = [row for row in home.context().lake.centre.read(ALERTS).to_pylist() if row["monitor"]]
    assert (unsealed["severity"], unsealed["detail"]) == ("critical", "drafts are as written: no rows")


def test_every_sink_is_told_and_one_that_cannot_be_reached_stops_nothing(home: SealedHome, silent_port: int) -> None:
    sinks = [f"http://127.0.0.1:{silent_port}/hook", "file:var/told/alerts.jsonl"]
    settings: dict[str, Any] = {"sites_run": "process", "alerts": {"sinks": sinks}}
    (home.home / "conf/base/farwatch.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    home.run(1, 2, missing=SILENT)
    for _ in range(2):
        alert(home.context(), given(home, 1, 2))
    lines = (home.home / "var/told/alerts.jsonl").read_text(encoding="utf-8").splitlines()
    told, partial = map(json.loads, lines)
    assert (told["source"], told["subject"], told["state"]) == ("shop", SET_ASIDE[1], "opened")
    assert "silent for 2 epochs" in told["detail"]
    assert told["epoch_start"] == "2020-01-01T01:00:00Z"
    assert (partial["monitor"], partial["kind"]) == ("busiest", "answer partial")
    assert raised(home) == [SET_ASIDE, PARTIAL]


def test_a_monitor_that_was_not_asked_for_is_not_missed(home: SealedHome) -> None:
    home.monitors = (BUSIEST, BUSIEST | {"name": "other"})
    home.configure()
    alert(home.context(), replace(given(home, 0, 2), only=["other"]))
    assert raised(home) == [("other", "the epoch is not sealed")]


LONG = 60


@pytest.fixture
def long_chain(tmp_path: Path) -> SealedHome:
    shop = SealedHome(tmp_path)
    shop.land([event for hour in range(2, LONG + 4) for event in bought(hour, north="aab")])
    shop.run(0, LONG - 1)
    shop.run(LONG - 1, LONG)
    return shop


def told_by_next(shop: SealedHome, epoch: int) -> list[tuple[str, str]]:
    """What an alert that follows the run of one more epoch opens or closes."""
    before = len(raised(shop))
    shop.run(epoch, epoch + 1)
    alert(shop.context(), given(shop, epoch, epoch + 1))
    rows = shop.context().lake.centre.read(ALERTS).sort_by("raised_at").to_pylist()[before:]
    return [(row["state"], row["kind"]) for row in rows]


@pytest.mark.parametrize("hour", [0, 2, 20, LONG - 1], ids=["before all", "first", "early", "last"])
def test_rows_that_come_late_make_a_long_chain_stale_until_it_is_replayed(long_chain: SealedHome, hour: int) -> None:
    assert told_by_next(long_chain, LONG) == []
    long_chain.land(bought(hour, north="z"))
    assert told_by_next(long_chain, LONG + 1) == [("opened", "chain stale")]
    assert told_by_next(long_chain, LONG + 2) == []
    long_chain.run(hour, LONG + 3, revise="late rows")
    assert told_by_next(long_chain, LONG + 3) == [("closed", "chain stale")]


def test_a_chain_that_became_stale_is_told_by_a_later_run_where_those_between_were_killed(
    long_chain: SealedHome,
) -> None:
    long_chain.land(bought(20, north="z"))
    for epoch in range(LONG, LONG + 3):
        long_chain.run(epoch, epoch + 1)  # and killed before it alerts
    assert told_by_next(long_chain, LONG + 3) == [("opened", "chain stale")]


def test_rows_that_came_late_are_found_behind_epochs_that_were_revised_since(long_chain: SealedHome) -> None:
    long_chain.land(bought(20, north="z"))
    long_chain.run(LONG - RECENT - 5, LONG, revise="for another reason")  # and killed before it alerts
    assert told_by_next(long_chain, LONG) == [("opened", "chain stale")]


def test_a_revision_without_what_follows_it_makes_a_long_chain_stale(long_chain: SealedHome) -> None:
    long_chain.land(bought(20, north="z"))
    long_chain.run(20, 21, revise="late rows")
    alert(long_chain.context(), given(long_chain, 20, 21))
    assert raised(long_chain) == [("busiest", "the chain is stale")]


def test_an_alert_reads_as_much_of_the_ledger_in_a_long_chain_as_in_a_short_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    plain = store.scan

    def counted(found: DeltaTable, table: Table, *asked: Any) -> pa.Table:
        rows = plain(found, table, *asked)
        if table == EPOCHS:
            read.append(rows.num_rows)
        return rows

    shop = SealedHome(tmp_path)
    shop.land([event for hour in range(LONG) for event in bought(hour, north="aab")])

    def rows_read_at(first: int, last: int) -> int:
        """The epochs up to the last but one are sealed at once; then the rows that the alert of the last one reads."""
        shop.run(first, last - 1)
        shop.run(last - 1, last)
        with monkeypatch.context() as patched:
            patched.setattr(store, "scan", counted)
            patched.setattr(ledger, "scan", counted)
            read.clear()
            alert(shop.context(), given(shop, last - 1, last))
        return sum(read)

    early, late = rows_read_at(0, LONG // 2), rows_read_at(LONG // 2, LONG)
    assert 0 < late <= early
