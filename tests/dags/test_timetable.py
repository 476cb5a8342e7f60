"""Which intervals the scheduler is told of: always whole ones, counted from the origin (06:30, every four hours)."""

from __future__ import annotations

import pytest

from tests.dags.conftest import Described, in_own_process


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Described:
    return in_own_process("tell_times.py", {"AIRFLOW_HOME": str(tmp_path_factory.mktemp("airflow"))})


def test_airflow_stores_and_restores_it(said: Described) -> None:
    assert said["kind"] == ["EpochTimetable", "4h", "every 4h, counted from 2026-01-01T06:30Z"]
    assert said["equal"]


@pytest.mark.parametrize(
    ("case", "start", "end"),
    [
        ("first, catching up", "2026-01-01T06:30", "2026-01-01T10:30"),
        ("first, without a start", "2026-01-01T06:30", "2026-01-01T10:30"),
        ("first, started within an interval", "2026-01-01T10:30", "2026-01-01T14:30"),
        ("first, started long before", "2026-01-01T06:30", "2026-01-01T10:30"),
        # The clock stands at 2026-01-05 12:00.
        ("first, not catching up", "2026-01-05T06:30", "2026-01-05T10:30"),
        ("next, catching up", "2026-01-01T10:30", "2026-01-01T14:30"),
        ("next, not catching up", "2026-01-05T06:30", "2026-01-05T10:30"),
        ("next, after the last complete", "2026-01-05T10:30", "2026-01-05T14:30"),
    ],
)
def test_the_next_run_covers_the_next_interval(said: Described, case: str, start: str, end: str) -> None:
    assert said[case] == [start, end]


def test_nothing_is_due_after_the_last_date(said: Described) -> None:
    assert said["next, after the last date"] is None


def test_after_a_change_of_schedule_the_next_run_begins_where_the_last_ended(said: Described) -> None:
    assert said["schedule was shorter"] == ["2026-01-01T11:30", "2026-01-01T14:30"]
    assert said["schedule was longer"] == ["2026-01-02T06:30", "2026-01-02T10:30"]


def test_a_run_by_hand_covers_the_last_complete_interval(said: Described) -> None:
    assert said["by hand"] == ["2026-01-02T18:30", "2026-01-02T22:30"]
    assert said["by hand, on a border"] == ["2026-01-02T22:30", "2026-01-03T02:30"]
