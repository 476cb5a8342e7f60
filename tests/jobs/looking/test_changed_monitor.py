"""A monitor that is changed in a running chain: its answers go on, or say that they lack what came before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobs.looking.answer import ShownAnswer, look
from jobs.looking.answer_report import promise_line
from tests.jobs.sealed_home import SealedHome

DISTINCT = {"name": "m", "question": "distinct-count", "source": "shop", "error": 0.1}
SIZED = {"options": {"repaid-sharing": {"bitmaps": 512}}}
DUPLICATION = {"name": "m", "question": "duplication", "source": "shop", "sample": 100, "lag": 0.1}
EVENTS = [(hour, site, f"{hour}-{site}-{number}") for hour in range(6) for site in ("n", "s") for number in range(5)]


def changed(home: Path, before: dict[str, Any], after: dict[str, Any]) -> list[ShownAnswer]:
    """The answers of six hours; the monitor is changed after two."""
    shop = SealedHome(home, monitors=[before])
    shop.land(EVENTS)
    shop.run(0, 2)
    shop.monitors = [after]
    shop.configure()
    shop.run(2, 4)
    shop.run(4, 6)
    return [look(shop.context(), "m", f"2020-01-01T{hour:02}:00Z", 0) for hour in range(6)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (DISTINCT | SIZED, DISTINCT | SIZED | {"error": 0.2, "confidence": 0.9}),
        (DUPLICATION, DUPLICATION | {"lag": 0.5}),
        (DUPLICATION, DUPLICATION | {"sample": 200}),
        (DUPLICATION, DUPLICATION | {"method": "exact"}),
        (DISTINCT, DISTINCT | {"method": "no-sharing"}),
    ],
)
def test_where_the_synopses_are_the_same_nothing_is_lost(
    tmp_path: Path, before: dict[str, Any], after: dict[str, Any]
) -> None:
    for hour, found in enumerate(changed(tmp_path, before, after)):
        row = found.rows[0]
        assert row["low"] <= 10 * (hour + 1) <= row["high"]
        assert not found.is_partial


@pytest.mark.parametrize("after", [DISTINCT | {"error": 0.2}, DISTINCT | {"method": "exact"}])
def test_where_they_are_others_answers_are_partial_and_say_why(tmp_path: Path, after: dict[str, Any]) -> None:
    found = changed(tmp_path, DISTINCT, after)
    assert [one.is_partial for one in found] == [False, False, True, True, True, True]
    assert [one.rows[0]["partial"] for one in found] == [False, False, True, True, True, True]
    assert round(found[-1].rows[0]["estimate"]) in (38, 39, 40, 41, 42)
    assert "it began anew when the monitor was changed" in promise_line(found[-1])


@pytest.mark.parametrize(
    ("window", "partial"), [({"window": "3h"}, [2, 3]), ({"reset": "3h"}, [2]), ({"window": "1h"}, [])]
)
def test_they_are_whole_again_once_the_window_has_passed(
    tmp_path: Path, window: dict[str, str], partial: list[int]
) -> None:
    found = changed(tmp_path, DISTINCT | window, DISTINCT | window | {"method": "exact"})
    assert [hour for hour, one in enumerate(found) if one.is_partial] == partial
