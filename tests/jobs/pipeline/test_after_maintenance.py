"""Rows that are owed or late are taken in long after: dead writes, small files and old files are gone by then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from unittest.mock import Mock, patch

import pytest

from monitoring_lib.tables import ANSWERS, SYNOPSES, TABLES
from tests.jobs.pipeline.deployment import ONE_PARTITION, SOURCE, Deployment, Row
from tests.jobs.pipeline.remedies import follow, typed

pytestmark = [pytest.mark.spark, pytest.mark.long]
DAY = 86_400
DAILY = SOURCE | {"epoch": "1d", "quality": {"ranges": {"value": [0, 100]}}}
GROWING = {"name": "growing", "question": "top-k", "source": "shop", "k": 9, "tolerance": 0, "method": "requery"}
RECENT = GROWING | {"name": "recent", "window": "2d", "method": "caching"}
WINDOWS = {"growing": 100, "recent": 2}
DAYS = 6
ADMITTED, REJECTED = 1, 3
ROWS: list[Row] = [
    (day * DAY + at, site, items[(day + at) % len(items)], 5)
    for day in range(DAYS)
    for site, items, many in (("north", "abc", 5), ("south", "cde", 4))
    for at in range(many)
]
ROWS += [(day * DAY + 9, "south", "wild", 1_000) for day in (ADMITTED, REJECTED)]
LATE: list[Row] = [(day * DAY + 20, "south", "late", 5) for day in (0, ADMITTED, ADMITTED, REJECTED)]


def exact(last: int, window: int, rows: Sequence[Row], without: Sequence[int] = ()) -> dict[str, int]:
    """By item, over the rows of a window that ends with this day, but for those of the south on some days."""
    return dict(
        Counter(
            item
            for second, site, item, _ in rows
            if last - window < second // DAY <= last and not (site == "south" and second // DAY in without)
        )
    )


def answers(home: Deployment, monitor: str) -> list[tuple[dict[str, float], bool]]:
    """Day by day: the counts of the last revision, and whether they are partial."""
    rows = [row for row in home.rows(ANSWERS) if row["monitor"] == monitor]
    last = Counter[object]()
    for row in rows:
        last[row["epoch_start"]] = max(last[row["epoch_start"]], row["revision"])
    found: list[tuple[dict[str, float], bool]] = []
    for start in sorted({row["epoch_start"] for row in rows}):
        own = [row for row in rows if (row["epoch_start"], row["revision"]) == (start, last[start])]
        assert all(row["low"] == row["high"] for row in own)
        found.append(({row["key"]: row["estimate"] for row in own}, own[0]["partial"]))
    return found


def maintained(home: Deployment) -> None:
    """As after a long time: whatever no seal lists goes at once, and every file that no table needs."""
    home.context().session.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    short = {name: replace(table, retention=0) for name, table in TABLES.items()}
    with patch("jobs.verbs.maintain.TABLES", short):
        for _ in range(2):  # the second time takes away the files that the first has put together
            assert typed(home, "maintain").code == 0


class Killed(BaseException):
    """What ends a run before its seal."""


def leave_dead_rows(home: Deployment) -> int:
    """A revision that is cut off; how many synopses it leaves."""
    before = len(home.rows(SYNOPSES))
    with patch.dict("jobs.command.run.STEPS", seal=Mock(side_effect=Killed)), pytest.raises(Killed):
        home.run(0, DAYS, revise="cut off")
    return len(home.rows(SYNOPSES)) - before


def test_what_is_owed_rejected_or_late_ends_right_after_maintenance(deploy: Callable[..., Deployment]) -> None:
    home = deploy(source=DAILY, monitors=(GROWING, RECENT), settings=ONE_PARTITION)
    home.add_file("all.csv", ROWS)
    assert typed(home, "run", "--source", "shop", "--from", "2020-01-01", "--to", "2020-01-07").code == 0
    dead = leave_dead_rows(home)
    kept = len(home.rows(SYNOPSES)) - dead
    maintained(home)
    assert dead
    assert len(home.rows(SYNOPSES)) == kept

    admit, _, _, reject = [words for words in typed(home, "status").remedies if words[0] in ("admit", "reject")]
    assert typed(home, *admit).code == 0
    assert_right(home, ROWS, lacking=(REJECTED,))
    assert typed(home, *reject).code == 0
    assert_right(home, ROWS, lacking=(REJECTED,))

    maintained(home)
    home.add_file("late.csv", LATE)
    assert typed(home, "land", "--source", "shop", "--from", "2020-01-06", "--to", "2020-01-07").code == 0
    status = typed(home, "status")
    for which, words in enumerate(status.remedies):
        if words[0] == "run":
            follow(home, status, which)
    assert_right(home, ROWS + LATE, lacking=(REJECTED,))
    assert typed(home, "admit", *reject[1:]).code == 0
    assert_right(home, ROWS + LATE)
    assert typed(home, "audit", "shop").code == 0


def assert_right(home: Deployment, rows: Sequence[Row], lacking: Sequence[int] = ()) -> None:
    """Every answer that is not partial is that of all rows, and it is partial where the window lacks some.

    A missing site counts with what it last observed: that of a window is told by its last report, so only growing
    counts are compared there.
    """
    for monitor, window in WINDOWS.items():
        found = answers(home, monitor)
        assert len(found) == DAYS
        for day, (counts, partial) in enumerate(found):
            assert partial == any(day - window < one <= day for one in lacking)
            if not partial or monitor == "growing":
                assert counts == exact(day, window, rows, lacking)
