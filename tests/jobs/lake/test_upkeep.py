"""A coordinator's table that is appended to again and again stays quick to open, and holds the same rows."""

from __future__ import annotations

import itertools
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from jobs.lake import upkeep
from jobs.lake.store import Store
from monitoring_lib.epochs import to_datetime
from monitoring_lib.tables import PLANS

HOUR = 3_600_000_000
APPENDS, BETWEEN = 75, 20


def plan(number: int) -> pa.Table:
    row = {"monitor": "m", "epoch_start": to_datetime(number * HOUR), "content": f"{number}", "write": f"w-{number}"}
    return pa.Table.from_pylist([row], PLANS.schema)


@pytest.mark.parametrize("compared", [False, True], ids=["plain appends", "compare and swap"])
def test_many_appends_leave_a_recent_checkpoint_and_compaction_few_files(tmp_path: Path, compared: bool) -> None:
    for number in range(APPENDS):
        store = Store(str(tmp_path))  # as a process of its own would
        if compared:
            store.append_if(PLANS, lambda _, number=number: plan(number))  # type: ignore[misc]
        else:
            store.append(PLANS, plan(number))
    found = DeltaTable(str(tmp_path / "plans"))
    log = tmp_path / "plans/_delta_log"
    newest = max(int(path.name.split(".")[0]) for path in log.glob("*.checkpoint.parquet"))
    assert found.version() - newest <= 2 * upkeep.CHECKPOINT_EVERY
    assert upkeep.compact(found, upkeep.full_size(found))
    assert len(found.file_uris()) <= BETWEEN + 2
    rows = Store(str(tmp_path)).read(PLANS)
    assert sorted(map(int, rows["content"].to_pylist())) == list(range(APPENDS))
    one = Store(str(tmp_path)).read(PLANS, [("epoch_start", "=", 7 * HOUR)])
    assert one["content"].to_pylist() == ["7"]


def test_a_full_file_is_left_alone_and_keeps_its_range_of_epochs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "_SMALLEST", 10_000)
    monkeypatch.setattr(upkeep, "_APPENDS_A_FILE", 4)
    store = Store(str(tmp_path))
    for number in range(APPENDS):
        store.append(PLANS, plan(number))
        if number % BETWEEN == 0:
            upkeep.compact(store.opened(PLANS), upkeep.full_size(store.opened(PLANS)))
    found = pa.table(DeltaTable(str(tmp_path / "plans")).get_add_actions(flatten=True)).to_pylist()
    ranges = sorted((one["min.epoch_start"], one["max.epoch_start"]) for one in found)
    assert len(ranges) > 2
    assert all(before[1] < after[0] for before, after in itertools.pairwise(ranges))


def test_only_one_rewrites_a_table_at_a_time(tmp_path: Path) -> None:
    with upkeep.alone(str(tmp_path)) as first, upkeep.alone(str(tmp_path)) as second:
        assert (first, second) == (True, False)
    with upkeep.alone(str(tmp_path)) as again:
        assert again
