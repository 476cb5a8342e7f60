"""The coordinator's tables: appends, compare-and-swap, and predicates that no name out of data gets into."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.errors import PySparkException

from jobs.lake import Lake
from jobs.lake.conditions import predicate
from jobs.lake.site_tables import SiteTables
from jobs.lake.store import Store, scan
from monitoring_lib.errors import StorageError
from monitoring_lib.tables import ALERTS, EVENTS, STATES

NOW = datetime(2020, 1, 1, tzinfo=UTC)


def state(monitor: str, node: str, write: str = "w") -> dict[str, Any]:
    return {
        "monitor": monitor, "method": "caching", "epoch_start": NOW, "node": node, "form": "base",
        "payload": node.encode(), "write": write,
    }  # fmt: skip


def rows(*states: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(states), STATES.schema)


@pytest.mark.parametrize("name", ["a' or 1=1 --", "é", "new\nline", 'quote"', "semi`colon"])
def test_a_name_out_of_data_is_refused_as_part_of_a_predicate(name: str) -> None:
    with pytest.raises(ValueError, match="no identifier of our own"):
        predicate([("write", "=", name)])
    with pytest.raises(ValueError, match="no identifier of our own"):
        predicate([("write", "in", ["fine", name])])


def test_a_predicate_joins_its_conditions_and_an_empty_list_matches_nothing() -> None:
    text = predicate([("monitor", "=", "m"), ("epoch_start", ">=", 0), ("write", "in", [])])
    assert text == "monitor = 'm' and epoch_start >= timestamp '1970-01-01T00:00:00.000000Z' and false"
    assert predicate([]) is None


def test_what_was_appended_is_read_back_and_filtered_by_write(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    assert store.read(STATES).num_rows == 0
    store.append(STATES, rows(state("m", "ä 'quoted'\n", "one"), state("m", "b", "two")))
    found = store.read(STATES, [("write", "in", ["one"])]).to_pylist()
    assert [row["node"] for row in found] == ["ä 'quoted'\n"]


def test_nothing_is_committed_where_there_are_no_rows(tmp_path: Path) -> None:
    seen: list[str] = []
    store = Store(str(tmp_path), committed=seen.append)
    store.append(STATES, rows())
    assert seen == []
    store.append(STATES, rows(state("m", "a")))
    assert seen == ["states", "states"]  # the table is made, then written to


def test_site_tables_are_not_written_by_this_engine(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="written by Spark only"):
        Store(str(tmp_path)).append(EVENTS, EVENTS.schema.empty_table())


def test_a_commit_that_came_between_makes_the_decision_be_taken_again(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    looked: list[int] = []

    def decide(table: DeltaTable) -> pa.Table | None:
        looked.append(table.version())
        if len(looked) == 1:
            store.append(STATES, rows(state("other", "came between")))
        return rows(state("m", f"decided at {table.version()}"))

    assert store.append_if(STATES, decide)
    assert looked == [0, 1]
    assert sorted(row["node"] for row in store.read(STATES).to_pylist()) == ["came between", "decided at 1"]


def test_reading_the_table_while_deciding_does_not_hide_a_commit_that_came_between(tmp_path: Path) -> None:
    store, another = Store(str(tmp_path)), Store(str(tmp_path))
    store.append(STATES, rows(state("m", "first")))
    looked: list[int] = []

    def decide(table: DeltaTable) -> pa.Table | None:
        looked.append(scan(table, STATES, [], ["node"]).num_rows)
        if len(looked) == 1:
            another.append(STATES, rows(state("other", "came between")))
            store.read(STATES)
        return rows(state("m", f"decided over {looked[-1]} rows"))

    assert store.append_if(STATES, decide)
    assert looked == [1, 2]
    assert sorted(row["node"] for row in store.read(STATES).to_pylist()) == [
        "came between", "decided over 2 rows", "first",
    ]  # fmt: skip


def test_deciding_for_nothing_commits_nothing(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    assert not store.append_if(STATES, lambda table: None)
    assert store.opened(STATES).version() == 0


def test_a_table_that_cannot_be_opened_is_worth_a_retry(tmp_path: Path) -> None:
    (tmp_path / "alerts" / "_delta_log").mkdir(parents=True)
    (tmp_path / "alerts" / "_delta_log" / f"{0:020}.json").write_text("no json", encoding="utf-8")
    with pytest.raises(StorageError, match="alerts"):
        Store(str(tmp_path)).read(ALERTS)


def test_counts_and_fingerprints_leave_payloads_where_they_are(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    store.append(STATES, rows(state("m", "a"), state("m", "b"), state("n", "c", "other")))
    assert store.count(STATES, ["monitor", "write"], []) == {("m", "w"): 2, ("n", "other"): 1}
    (found,) = store.fingerprints(STATES, [("write", "=", "other")]).to_pylist()
    assert found["payload"] == "2e7d2c03a9507ae265ecf5b5356885a53393a2029d241394997265a1a25aefc6"  # of b"c"
    assert found["payload_bytes"] == 1


def test_a_sealed_slice_holds_of_each_epoch_only_the_rows_of_its_own_write(tmp_path: Path) -> None:
    from jobs.lake.seals import Seal

    store = Store(str(tmp_path))
    lake = Lake(store, store, lambda: None)  # type: ignore[arg-type, return-value]
    start = int(NOW.timestamp()) * 1_000_000
    later = state("m", "later, of an orphan", "one") | {"epoch_start": datetime(2020, 1, 2, tzinfo=UTC)}
    store.append(STATES, rows(state("m", "true", "one"), state("m", "dead", "orphan"), later))
    seals = [
        Seal("s", "m", start, 0, "one", {"states": "one"}),
        Seal("s", "m", start + 86_400_000_000, 0, "two", {"states": "two"}),
    ]
    assert [row["node"] for row in lake.sealed(STATES, seals, ["states"]).to_pylist()] == ["true"]


class RefusingSpark:
    """A session whose CREATE TABLE fails; before that, another may have made the table."""

    def __init__(self, made_before: str) -> None:
        self.made_before = made_before

    def sql(self, _: str) -> None:
        if self.made_before:
            DeltaTable.create(self.made_before, EVENTS.schema)
        raise PySparkException("[DELTA_PROTOCOL_CHANGED] multiple writers are writing to an empty directory")


def test_a_site_table_that_another_run_makes_at_the_same_moment_is_taken_as_it_is(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    with pytest.raises(StorageError, match=r"events cannot be read or written: .*DELTA_PROTOCOL_CHANGED"):
        SiteTables(store, lambda: RefusingSpark("")).make(EVENTS)  # type: ignore[arg-type,return-value]
    SiteTables(store, lambda: RefusingSpark(store.location(EVENTS))).make(EVENTS)  # type: ignore[arg-type,return-value]
    assert store.open(EVENTS) is not None


def test_rows_are_not_taken_out_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path))
    store.append(STATES, rows(state("m", "a"), state("m", "b")))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1 << 30, 1 << 30, 0))  # type: ignore[attr-defined]
    with pytest.raises(StorageError, match=r"states cannot be written: the disk is full"):
        store.delete(STATES, [("monitor", "=", "m")])
    assert store.read(STATES).num_rows == 2
