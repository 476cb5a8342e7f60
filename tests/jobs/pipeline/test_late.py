"""Late rows: with `revise: auto` the next run replays their chains first; beyond the horizon they go to quarantine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jobs.auditing.integrity import OUTPUTS
from jobs.lake.content import digest_rows
from monitoring_lib.epochs import to_microseconds
from monitoring_lib.tables import ANSWERS, CURSORS, DRAFTS, EVENTS, MESSAGES, QUARANTINE, ROSTERS, STATES, Table
from tests.jobs.pipeline.deployment import BUSIEST, HOUR, ONE_PARTITION, RECENT, SOURCE, Deployment, shopping

pytestmark = [pytest.mark.spark, pytest.mark.long]
Deploy = Callable[..., Deployment]
MONITORS = (BUSIEST | {"method": "margins", "shadow": ["caching"]}, RECENT)
EPOCHS = 6
LATE = [(2 * HOUR + second, "site 9", "came late", 5) for second in range(60)]
"""Of a site that nobody has met."""
TOO_LATE = [(second, "site 1", "forgotten", 1) for second in range(7)]
AUTO = SOURCE | {"late": {"horizon": "3h", "revise": "auto"}, "quality": {"freshness": 0}}


def test_after_an_automatic_revision_everything_is_as_if_the_rows_had_come_in_time(deploy: Deploy) -> None:
    home, on_time = (deploy(name, source=AUTO, monitors=MONITORS, settings=ONE_PARTITION) for name in ("late", "time"))
    hours = shopping(21, EPOCHS)
    for made in (home, on_time):
        for hour, rows in hours.items():
            # The file of one site's epoch comes late as well: it was missing.
            made.add_file(f"{hour}.csv", [row for row in rows if hour != 3 or row[1] != "site 2"])
    delayed = [row for row in hours[3] if row[1] == "site 2"]
    on_time.add_file("late.csv", [*LATE, *delayed])
    on_time.run(0, EPOCHS)
    home.run(0, EPOCHS - 1)
    assert "site 2" in home.context().lake.ledger.seals("shop", "recent")[3].missing_sites

    home.add_file("late.csv", [*LATE, *delayed])
    home.run(EPOCHS - 1, EPOCHS)
    seals = home.context().lake.ledger.seals("shop", "recent")
    assert [seal.revision for seal in seals] == [0, 0, 1, 1, 1, 0]
    came = f"late rows: {len(LATE) + len(delayed)} rows of 2 epochs landed after the seal"
    assert [seal.reason for seal in seals[2:5]] == [came] * 3
    assert home.digests() == on_time.digests()
    for table in (MESSAGES, STATES, DRAFTS, CURSORS, ROSTERS):
        assert sealed(home, table) == sealed(on_time, table)
    assert newest(home) == newest(on_time)
    old = [row for row in home.rows(ANSWERS) if not row["revision"] and row["monitor"] == "recent"]
    assert len({row["epoch_start"] for row in old}) == EPOCHS  # the old ones stay readable

    home.add_file("too late.csv", TOO_LATE)
    home.run(EPOCHS, EPOCHS + 1)
    assert {row["kind"] for row in home.rows(QUARANTINE)} == {
        "later than the horizon of 3h: its epoch was sealed before"
    }
    assert not any(row["item"] == "forgotten" for row in home.rows(EVENTS))
    assert [seal.revision for seal in home.context().lake.ledger.seals("shop", "recent")] == [0, 0, 1, 1, 1, 0, 0]


def sealed(home: Deployment, table: Table) -> str:
    """The digest of all rows that current seals name."""
    lake, rows = home.context().lake, []
    for monitor in MONITORS:
        seals = lake.ledger.seals("shop", monitor["name"])
        rows += lake.sealed(table, seals, OUTPUTS[table], [("monitor", "=", monitor["name"])]).to_pylist()
    assert rows
    return digest_rows(table, rows)


def newest(home: Deployment) -> list[tuple[Any, ...]]:
    """The published answers of the last revision, without it."""
    last: dict[tuple[str, int], int] = {}
    rows = home.rows(ANSWERS)
    for row in rows:
        key = row["monitor"], to_microseconds(row["epoch_start"])
        last[key] = max(last.get(key, 0), row["revision"])
    names = [name for name in ANSWERS.columns if name not in ("revision", "write")]
    return sorted(
        tuple(str(row[name]) for name in names)
        for row in rows
        if row["revision"] == last[row["monitor"], to_microseconds(row["epoch_start"])]
    )
