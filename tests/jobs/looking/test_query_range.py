"""`farwatch query MONITOR --range 3h`: any last part of the window of a sliding distinct count."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jobs.looking import query
from monitoring_lib.errors import UsageError
from tests.jobs.sealed_home import SealedHome

HOURS = 6
EVENTS = [
    (hour, site, f"{hour // 2}-{site}-{n}") for hour in range(HOURS) for site in ("n", "s") for n in range(5 + hour)
]
DISTINCT = {"question": "distinct-count", "source": "shop", "error": 0.1, "window": "4h"}
MONITORS = [
    {"name": "bits", **DISTINCT},
    {"name": "hll", **DISTINCT, "options": {"repaid-sharing": {"sketch": "hll"}}},
    {"name": "exact", **DISTINCT, "method": "exact"},
    {"name": "growing", **DISTINCT, "window": "growing"},
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> SealedHome:
    shop = SealedHome(tmp_path_factory.mktemp("shop"), monitors=MONITORS)
    shop.land(EVENTS)
    shop.run(0, HOURS)
    return shop


@pytest.fixture
def asked(home: SealedHome, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    for name, value in home.environment.items():
        monkeypatch.setenv(name, value)

    def asked(monitor: str, **options: Any) -> dict[str, Any]:
        query.run(monitor, as_json=True, **options)
        (row,) = json.loads(capsys.readouterr().out)["answers"]
        return dict(row)

    return asked


def different(first: int, end: int) -> int:
    return len({item for hour, _, item in EVENTS if first <= hour < end})


@pytest.mark.parametrize("monitor", ["bits", "hll", "exact"])
@pytest.mark.parametrize("hours", [1, 2, 3, 4])
@pytest.mark.parametrize("end", [4, HOURS])
def test_every_last_part_of_the_window_can_be_asked_at_any_sealed_epoch(
    asked: Any, monitor: str, hours: int, end: int
) -> None:
    row = asked(monitor, range_=f"{hours}h", epoch=f"2020-01-01T{end - 1:02}:00Z")
    exact = different(end - hours, end)
    assert row["low"] <= exact <= row["high"]
    assert row["estimate"] * 0.9 - 1 <= row["low"] <= row["high"] <= row["estimate"] / 0.9 + 1
    assert (row["key"], row["partial"]) == ("", False)
    if monitor == "exact":
        assert (row["low"], row["high"], row["confidence"]) == (exact, exact, 1)


@pytest.mark.parametrize(
    ("monitor", "given", "problem"),
    [
        ("bits", {"range_": "5h"}, "at most 4h"),
        ("exact", {"range_": "90m"}, "not a whole number of epochs of 1h"),
        ("bits", {"point": "x"}, "no items to look up"),
        ("growing", {"range_": "1h"}, "a growing window is kept as a whole"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_remedy(
    asked: Any, monitor: str, given: dict[str, str], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        asked(monitor, **given)
