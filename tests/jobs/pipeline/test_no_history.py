"""No step reads more because the chain is long: rows and files read by one epoch, early and late, a site long dead."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from benchmarks._lake_reads import Watch
from jobs.command.late import replays
from jobs.epoch import memory
from jobs.epoch.handover import Handover
from jobs.epoch.late import earliest_taken
from jobs.lake import ledger, store, upkeep
from jobs.lake.conditions import RowCondition
from jobs.looking import recently_stale
from jobs.looking.answer import look_briefly
from monitoring_lib.tables import TABLES, Table
from tests.jobs.sealed_home import BUSIEST, SOURCE, SealedHome, bought

EARLY, LATE, MEASURED = 8, 32, 6
DEAD = {"south": "silent"}
MONITORS = (BUSIEST, BUSIEST | {"name": "recent", "window": "3h", "method": "margins"})
AUTO = SOURCE | {"late": {"horizon": "1d", "revise": "auto"}}
Read = Counter[tuple[str, str]]
"""Rows and files, by table."""


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> Read:
    """Counts the rows that are read; states are folded and tables checkpointed so often that a short chain is long."""
    monkeypatch.setattr(memory, "_MOST_EPOCHS", 3)
    monkeypatch.setattr(upkeep, "CHECKPOINT_EVERY", 4)
    monkeypatch.setattr(recently_stale, "RECENT", 4)
    monkeypatch.setattr(ledger, "_FIRST_LOOK", 4)
    found: Read = Counter()
    plain = store.scan

    def counted(table: DeltaTable, of: Table, conditions: Iterable[RowCondition], columns: Sequence[str]) -> pa.Table:
        read = plain(table, of, conditions, columns)
        found[of.name, "rows"] += read.num_rows
        return read

    monkeypatch.setattr(store, "scan", counted)
    monkeypatch.setattr(ledger, "scan", counted)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="files that are opened are counted by Linux")
def test_rows_and_files_read_by_an_epoch_stay_the_same_with_a_site_dead_since_the_third(
    tmp_path: Path, rows: Read
) -> None:
    home = SealedHome(tmp_path, monitors=MONITORS, source=AUTO)
    home.land(
        [event for hour in range(LATE + MEASURED) for event in bought(hour, north="aab" * (hour % 3), south="bcc")]
    )
    home.run(0, 3)
    watch = Watch(tmp_path / "var")

    def read_by(first: int) -> list[Read]:
        found = []
        for epoch in range(first, first + MEASURED):
            rows.clear()
            watch.look()
            look_for_late_rows(home, epoch)
            home.run(epoch, epoch + 1, missing=DEAD)
            for monitor in MONITORS:  # as Airflow's log of `seal` ends
                look_briefly(home.context(), monitor["name"])
            opened = Counter({(name, "files"): count for name, count in watch.opened().items() if _is_counted(name)})
            found.append(Counter(rows) + opened)
        return found

    def pass_by(first: int, last: int) -> None:
        for epoch in range(first, last):  # each a commit of its own, as the scheduler makes them
            home.run(epoch, epoch + 1, missing=DEAD)

    pass_by(3, EARLY)
    early = read_by(EARLY)
    pass_by(EARLY + MEASURED, LATE)
    late = read_by(LATE)
    watch.close()
    found = [sum(part, Counter()) for part in (early, late)]
    assert found[0]["messages", "rows"]
    for key in found[0].keys() | found[1].keys():
        assert found[1][key] <= 2 * found[0][key] + 8, (key, *found)
    for kind in ("rows", "files"):
        before, after = (sum(count for key, count in one.items() if key[1] == kind) for one in found)
        assert after <= 1.2 * before, (kind, before, after, *found)


def look_for_late_rows(home: SealedHome, epoch: int) -> None:
    """As a landing and a run do it where the source says `revise: auto`; there are none."""
    context = home.context()
    source = context.config.source(home.name)
    start = source.clock.start_of(epoch)
    assert earliest_taken(context.lake, source) == start - 24 * source.epoch
    assert replays(context, Handover.begin(home.name, source.clock, start, start + source.epoch, [])) == []


def _is_counted(name: str) -> bool:
    """All files but the logs of the sites' tables: here it is not Spark that writes them, with its checkpoints."""
    table, _, log = name.partition(" ")
    return table in TABLES and not (log and TABLES[table].at_sites)
