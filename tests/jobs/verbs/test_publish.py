"""Publishing: everything that is sealed gets to readers, once, however long ago its epoch was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jobs.epoch import publish
from monitoring_lib.epochs import to_microseconds
from monitoring_lib.tables import ANSWERS
from tests.jobs.sealed_home import SOURCE, SealedHome, bought

MONITOR = {"name": "busiest", "question": "top-k", "source": "shop", "k": 1, "method": "caching"}
HOURS = 4


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SealedHome:
    """Four epochs, sealed but not published, and a publisher that looks back no further than one epoch."""
    monkeypatch.setattr(publish, "_LOOK_BACK", 1)
    home = SealedHome(tmp_path, monitors=[MONITOR])
    for hour in range(HOURS):
        home.land(bought(hour, north="aab", south="b"))
        home.run(hour, hour + 1, published=False)
    return home


def published(home: SealedHome) -> list[tuple[int, int]]:
    """(epoch, revision) of every row that readers see."""
    clock = home.context().config.source("shop").clock
    rows = home.context().lake.centre.read(ANSWERS).to_pylist()
    return sorted((clock.epoch_of(to_microseconds(row["epoch_start"])), row["revision"]) for row in rows)


def publish_from(home: SealedHome, epoch: int) -> None:
    context = home.context()
    publish.publish(context, "shop", "busiest", context.config.source("shop").clock.start_of(epoch))


def test_an_epoch_is_published_however_many_seals_there_are_since(home: SealedHome) -> None:
    publish_from(home, 2)
    assert published(home) == [(1, 0), (2, 0), (3, 0)]
    publish_from(home, 0)
    publish_from(home, 0)
    assert published(home) == [(0, 0), (1, 0), (2, 0), (3, 0)]


def test_the_last_seals_are_published_although_they_lie_before(home: SealedHome) -> None:
    publish_from(home, HOURS)
    assert published(home) == [(3, 0)]


def test_the_revision_of_an_old_epoch_is_published_beside_what_it_corrects(home: SealedHome) -> None:
    publish_from(home, 0)
    home.land(bought(0, north="bbb"))
    home.run(0, 1, revise="late rows", published=False)
    publish_from(home, 0)
    assert published(home) == [(0, 0), (0, 1), (1, 0), (2, 0), (3, 0)]


def renamed(home: SealedHome) -> SealedHome:
    """The same tables and monitors under another name of the source: its chains begin anew."""
    (home.home / "conf/base/sources/shop.yml").unlink()
    return SealedHome(home.home, [MONITOR | {"source": "store"}], SOURCE | {"name": "store"})


def test_under_a_new_name_of_the_source_its_answers_take_the_place_of_the_old_ones_and_nothing_is_called_damaged(
    home: SealedHome, capsys: pytest.CaptureFixture[str]
) -> None:
    publish_from(home, 0)
    home.land(bought(0, north="bbb"))
    home.run(0, HOURS, revise="late rows")
    store = renamed(home)
    for hour in range(HOURS):
        store.land(bought(hour, north="zzz"))
    capsys.readouterr()
    for first, last in ((0, 1), (1, 3), (3, HOURS)):
        store.run(first, last)
        told = json.loads(store.command("query", "busiest", "--json").stdout)
        rows = [row for row in store.context().lake.centre.read(ANSWERS).to_pylist() if row["key"] == "z"]
        assert (len(rows), max(row["estimate"] for row in rows)) == (last, 3.0 * last)
        assert [row["estimate"] for row in told["answers"]] == [3.0 * last]
    said = " ".join(capsys.readouterr().err.split())
    assert "damaged" not in said
    assert "busiest, epoch 2020-01-01: published answers were those of the source shop; published anew" in said
    assert {row["key"] for row in store.context().lake.centre.read(ANSWERS).to_pylist()} == {"z"}


def test_answers_that_are_there_twice_are_told_as_damage(home: SealedHome, capsys: pytest.CaptureFixture[str]) -> None:
    publish_from(home, 0)
    centre = home.context().lake.centre
    centre.append(ANSWERS, centre.read(ANSWERS))
    publish_from(home, HOURS)
    assert published(home) == [(0, 0), (0, 0), (1, 0), (1, 0), (2, 0), (2, 0), (3, 0)]
    assert "epoch 2020-01-01T03:00Z: published answers were damaged; published anew" in capsys.readouterr().err
