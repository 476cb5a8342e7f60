"""Run as a script: asks the timetable, as Airflow stores and restores it, and says its answers as JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import DAG
from airflow.sdk.timezone import coerce_datetime
from airflow.serialization.serialized_objects import DagSerialization
from airflow.timetables.base import DagRunInfo, DataInterval, TimeRestriction

from farwatch_airflow import timetable
from farwatch_airflow.timetable import EpochTimetable

HOUR = 3_600_000_000
ORIGIN = datetime(2026, 1, 1, 6, 30, tzinfo=UTC)
NOW = datetime(2026, 1, 5, 12, 0, 0, 1, tzinfo=UTC)


class StoppedClock(datetime):
    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        return NOW


def at(text: str) -> datetime:
    """As Airflow has it: a moment of pendulum's."""
    return coerce_datetime(datetime.fromisoformat(text).replace(tzinfo=UTC))


def said(info: DagRunInfo | DataInterval | None) -> list[str] | None:
    if info is None:
        return None
    interval = info.data_interval if isinstance(info, DagRunInfo) else info
    if isinstance(info, DagRunInfo):
        assert info.run_after == interval.end
    return [f"{moment:%Y-%m-%dT%H:%M}" for moment in interval]


def main() -> None:
    own = EpochTimetable(int(ORIGIN.timestamp()) * 1_000_000, 4 * HOUR)
    stored = DagSerialization.from_dict(json.loads(json.dumps(DagSerialization.to_dict(DAG("a", schedule=own)))))
    restored = stored.timetable
    timetable.datetime = StoppedClock

    def next_(last: tuple[str, str] | None, catchup: bool, earliest: datetime | None, latest: datetime | None = None):
        interval = None if last is None else DataInterval(*map(at, last))
        given = TimeRestriction(earliest, latest, catchup)
        return said(restored.next_dagrun_info(last_automated_data_interval=interval, restriction=given))

    origin = coerce_datetime(ORIGIN)
    found = {
        "kind": [type(restored).__name__, restored.summary, restored.description],
        "equal": restored.serialize() == own.serialize(),
        "first, catching up": next_(None, True, origin),
        "first, without a start": next_(None, True, None),
        "first, started within an interval": next_(None, True, origin + timedelta(minutes=1)),
        "first, started long before": next_(None, True, origin - timedelta(days=9)),
        "first, not catching up": next_(None, False, origin),
        "next, catching up": next_(("2026-01-01T06:30", "2026-01-01T10:30"), True, origin),
        "next, not catching up": next_(("2026-01-01T06:30", "2026-01-01T10:30"), False, origin),
        "next, after the last complete": next_(("2026-01-05T06:30", "2026-01-05T10:30"), False, origin),
        "next, after the last date": next_(("2026-01-01T06:30", "2026-01-01T10:30"), True, origin, origin),
        "schedule was shorter": next_(("2026-01-01T10:30", "2026-01-01T11:30"), True, origin),
        "schedule was longer": next_(("2026-01-01T06:30", "2026-01-02T06:30"), True, origin),
        "by hand": said(restored.infer_manual_data_interval(run_after=at("2026-01-03T00:00"))),
        "by hand, on a border": said(restored.infer_manual_data_interval(run_after=at("2026-01-03T02:30"))),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
