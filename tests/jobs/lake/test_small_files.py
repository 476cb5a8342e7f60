"""Rows that are kept of small files: the same as the engine reads, whatever is asked."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from jobs.lake import small_files
from jobs.lake.conditions import RowCondition, predicate
from jobs.lake.small_files import kept_rows
from jobs.lake.store import Store
from monitoring_lib.epochs import to_datetime
from monitoring_lib.errors import DamagedTable
from monitoring_lib.tables import CURSORS, Table

HOUR = 3_600_000_000
MONITORS = ["busiest", "recent", "a" * 80, "a" * 79 + "b"]
"""Two of them differ behind the place where an engine cuts off the bounds of texts."""


def rows(epochs: range, monitors: list[str], write: str = "w") -> pa.Table:
    cells = [(monitor, epoch) for epoch in epochs for monitor in monitors]
    return pa.table(
        {
            "monitor": [monitor for monitor, _ in cells],
            "epoch_start": [to_datetime(epoch * HOUR) for _, epoch in cells],
            "content": [f"{monitor[-1]} {epoch}" for monitor, epoch in cells],
            "write": [write] * len(cells),
        },
        schema=CURSORS.schema,
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(str(tmp_path / "with spaces % and signs"))
    for epoch in range(6):
        store.append(CURSORS, rows(range(epoch, epoch + 2), MONITORS[epoch % 4 :], f"w{epoch}"))
    return store


def some_conditions(draw: random.Random) -> list[RowCondition]:
    known: list[RowCondition] = [
        ("monitor", "=", draw.choice([*MONITORS, "nobody", ""])),
        ("epoch_start", draw.choice(["=", ">=", "<", "<=", ">"]), draw.randrange(-1, 9) * HOUR),
        ("write", "in", draw.sample(["w0", "w1", "w2", "w5", "other"], draw.randrange(4))),
        ("content", ">", draw.choice(["", "a 3", "z"])),
    ]
    return draw.sample(known, draw.randrange(len(known) + 1))


@pytest.mark.parametrize("whole", [small_files._WHOLE, 0], ids=["all columns at once", "those that are asked for"])
def test_rows_are_those_that_the_engine_reads(store: Store, whole: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_files, "_WHOLE", whole)
    found = store.opened(CURSORS)
    draw = random.Random(7)
    for _ in range(150):
        conditions = some_conditions(draw)
        columns = draw.sample(list(CURSORS.columns), draw.randrange(1, 5))
        kept = kept_rows(found, CURSORS, conditions, columns)
        read = pa.table(found.scan(columns=columns, predicate=predicate(conditions)))
        assert kept is not None
        assert kept.schema == pa.schema([CURSORS.schema.field(name) for name in columns])
        order = [(name, "ascending") for name in columns]
        assert kept.sort_by(order).to_pylist() == read.cast(kept.schema).sort_by(order).to_pylist(), conditions


def test_what_is_appended_is_read(store: Store) -> None:
    assert store.read(CURSORS, [("epoch_start", "=", 40 * HOUR)]).num_rows == 0
    store.append(CURSORS, rows(range(40, 41), ["busiest"]))
    assert store.read(CURSORS, [("epoch_start", "=", 40 * HOUR)]).num_rows == 1


def test_a_file_is_read_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    before = store.read(CURSORS)
    monkeypatch.setattr(small_files, "_read", lambda *_: pytest.fail("it was read before"))
    assert store.read(CURSORS).equals(before)


def test_of_a_larger_file_a_column_is_read_when_it_is_asked_for_and_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_files, "_WHOLE", 0)
    read: list[str] = []
    plain = small_files._read

    def noted(folder: Path, file: dict[str, Any], table: Table, names: list[str]) -> pa.Table:
        read.extend(names)
        return plain(folder, file, table, names)

    monkeypatch.setattr(small_files, "_read", noted)
    for columns in (["write"], ["write", "monitor"], ["monitor"]):
        assert store.read(CURSORS, [("epoch_start", "=", 0)], columns).num_rows == len(MONITORS)
    assert read == ["write", "epoch_start", "monitor"]


def test_a_file_that_cannot_meet_a_condition_is_not_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_files, "_read", lambda *_: pytest.fail("no file holds such an epoch"))
    assert store.read(CURSORS, [("epoch_start", ">", 100 * HOUR)]).num_rows == 0


def test_large_files_are_read_by_the_engine(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_files, "_SMALL", 10)
    assert kept_rows(store.opened(CURSORS), CURSORS, [], ["monitor"]) is None
    assert store.read(CURSORS).num_rows


def test_no_more_is_kept_than_the_limit(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = store.read(CURSORS)
    monkeypatch.setattr(small_files, "_MOST_KEPT", 0)
    fresh = Store(store.root)
    assert fresh.read(CURSORS).num_rows == whole.num_rows
    assert len(small_files._known(fresh.opened(CURSORS)).rows) == 1


def test_the_limit_is_one_for_all_tables(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    before = store.read(CURSORS)
    monkeypatch.setattr(small_files, "_MOST_KEPT", before.nbytes - 1)
    Store(store.root).read(CURSORS)
    assert not small_files._known(store.opened(CURSORS)).rows
    assert store.read(CURSORS).equals(before)


def test_a_lost_file_is_told_as_the_engine_tells_it(store: Store) -> None:
    next(Path(store.root, CURSORS.name).glob("*.parquet")).unlink()
    with pytest.raises(DamagedTable, match=CURSORS.name):
        Store(store.root).read(CURSORS)
