"""`farwatch query MONITOR --point X | --ask QUERY | --range 2h`: the stored sketch answers without running an epoch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jobs.looking import query
from monitoring_lib.errors import UsageError
from monitoring_lib.tables import ANSWERS, EPOCHS
from tests.jobs.sealed_home import SealedHome, bought

NUMBERS = {
    "name": "recent", "question": "recent-counts", "source": "shop", "window": "4h", "error": 0.1, "bits": 4,
    "queries": [
        {"name": "top", "heavy_hitters": 0.3, "range": "2h"},
        {"name": "middle", "quantiles": [0.5], "range": "4h"},
        {"name": "skew", "self_join": True, "range": "1h"},
    ],
}  # fmt: skip
PLAIN = {
    "name": "plain", "question": "recent-counts", "source": "shop", "window": "2h", "error": 0.1,
    "queries": [{"name": "x", "point": "x", "range": "1h"}],
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SealedHome:
    shop = SealedHome(tmp_path, monitors=(NUMBERS, PLAIN))
    shop.land(
        [*bought(0, north="11112222", south="3333"), *bought(1, north="5555", south="51"), *bought(2, south="77")]
    )
    shop.run(0, 3)
    for name, value in shop.environment.items():
        monkeypatch.setenv(name, value)
    return shop


def asked(capsys: pytest.CaptureFixture[str], monitor: str, **options: Any) -> dict[str, Any]:
    query.run(monitor, as_json=True, **options)
    return {row["key"]: row for row in json.loads(capsys.readouterr().out)["answers"]}


def test_every_kind_of_query_is_answered_with_its_bounds_and_nothing_is_written(
    home: SealedHome, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = home.context().lake.centre
    before = [lake.read(table).num_rows for table in (ANSWERS, EPOCHS)]
    exact = {
        "5": (asked(capsys, "recent", point="5", range_="2h"), 5),
        "": (asked(capsys, "recent", range_="1h"), 2),
        "between": (asked(capsys, "recent", ask="between: [1, 3]", range_="4h"), 13),
        "self_join": (asked(capsys, "recent", ask="self_join: true", range_="2h"), 25 + 1 + 4),
        "0.25": (asked(capsys, "recent", ask="quantiles: [0.25]", range_="4h"), 1),
    }
    for key, (rows, number) in exact.items():
        assert list(rows) == [key]
        assert rows[key]["low"] <= number <= rows[key]["high"]
    heavy = asked(capsys, "recent", ask="heavy_hitters: 0.4", range_="2h")
    assert list(heavy) == ["5"]
    assert heavy["5"]["rank"] == 1
    earlier = asked(capsys, "recent", point="3", range_="1h", epoch="2020-01-01T00:30")
    assert earlier["3"]["low"] <= 4 <= earlier["3"]["high"]
    assert [lake.read(table).num_rows for table in (ANSWERS, EPOCHS)] == before


@pytest.mark.parametrize(
    ("monitor", "options", "words"),
    [
        ("recent", {"ask": "heavy_hitters: 0.1", "range_": "2h"}, "0.3 over 2h"),
        ("recent", {"ask": "median: true"}, "no query has median"),
        ("recent", {"ask": "0.5"}, "write a key and a value"),
        ("recent", {"ask": "{"}, "is no YAML"),
        ("recent", {"ask": "self_join: true", "point": "5"}, "one thing at a time"),
        ("recent", {"point": "5", "range_": "5h"}, "up to its window of 4h"),
        ("recent", {"point": "x", "range_": "1h"}, "no whole number"),
        ("plain", {"ask": "quantiles: [0.5]"}, "bits"),
        ("plain", {"ask": "heavy_hitters: 0.5"}, "none"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_the_reason(
    home: SealedHome, monitor: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError) as raised:
        query.run(monitor, **options)
    assert words in str(raised.value)


def test_people_see_what_they_asked_for(home: SealedHome, capsys: pytest.CaptureFixture[str]) -> None:
    query.run("recent", ask="self_join: true", range_="2h")
    assert "range 2h, self_join True" in capsys.readouterr().out
