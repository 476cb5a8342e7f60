"""Where a monitor's chain begins: with the first events, at the origin, or at a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from jobs.command.cli import app
from monitoring_lib.errors import EpochGapError
from monitoring_lib.tables import ANSWERS
from tests.jobs.sealed_home import BUSIEST, SOURCE, SealedHome, bought

EXACT = BUSIEST | {"k": 9, "tolerance": 0}


def shop_that_begins(folder: Path, begin: str | None) -> SealedHome:
    return SealedHome(folder, (EXACT,), SOURCE if begin is None else SOURCE | {"begin": begin})


def counts(shop: SealedHome, hour: int) -> dict[str, float]:
    """The answer of an hour in its last revision."""
    start = shop.context().config.source("shop").clock.start_of(hour)
    rows = shop.context().lake.centre.read(ANSWERS, [("epoch_start", "=", start)]).to_pylist()
    last = max((row["revision"] for row in rows), default=0)
    return {row["key"]: row["estimate"] for row in rows if row["revision"] == last}


def test_with_the_first_events(tmp_path: Path) -> None:
    shop = shop_that_begins(tmp_path, "first")
    shop.land([event for hour in (3, 4) for event in bought(hour, north="ab")])
    with pytest.raises(EpochGapError, match="--from 2020-01-01T03:00Z --to 2020-01-01T05:00Z --monitors busiest"):
        shop.run(4, 5)
    shop.run(3, 4)
    shop.run(4, 5)
    assert counts(shop, 4) == {"a": 2, "b": 2}


def test_with_any_epoch_as_long_as_nothing_has_landed_and_earlier_events_begin_it_anew(tmp_path: Path) -> None:
    shop = shop_that_begins(tmp_path, "first")
    shop.run(5, 6)
    shop.land([event for hour in (4, 5) for event in bought(hour, north="ab")])
    said = " ".join(CliRunner().invoke(app, ["status"], env=shop.environment).stdout.split())
    assert "stale from epoch 2020-01-01T04:00Z on" in said
    assert "`farwatch run --source shop --from 2020-01-01T04:00Z --to 2020-01-01T06:00Z --monitors busiest" in said
    shop.run(4, 6, revise="late rows")
    assert counts(shop, 5) == {"a": 2, "b": 2}


def test_at_the_origin_unless_it_is_said_otherwise(tmp_path: Path) -> None:
    shop = shop_that_begins(tmp_path, None)
    shop.land(bought(3, north="ab"))
    with pytest.raises(EpochGapError, match="--from 2020-01-01 --to 2020-01-01T04:00Z --monitors busiest"):
        shop.run(3, 4)


def test_at_a_time_before_which_events_do_not_count(tmp_path: Path) -> None:
    shop = shop_that_begins(tmp_path, "2020-01-01T02:00")
    shop.land([event for hour in range(4) for event in bought(hour, north="ab")])
    for hour in (2, 3):
        shop.run(hour, hour + 1)
    assert counts(shop, 3) == {"a": 2, "b": 2}
    assert "stale" not in CliRunner().invoke(app, ["status"], env=shop.environment).stdout
