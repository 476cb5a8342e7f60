"""When the runs of a source are due, and which interval each of them covers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk.timezone import coerce_datetime
from airflow.timetables.base import DagRunInfo, DataInterval, Timetable

from monitoring_lib.epochs import Clock, format_duration, format_time, to_datetime, to_microseconds

if TYPE_CHECKING:
    from airflow.timetables.base import TimeRestriction


class EpochTimetable(Timetable):
    """Intervals ``[origin + n * length, origin + (n + 1) * length)``, each due at its end.

    Airflow's own timetable of a fixed length counts from 1970, or from the moment a run was asked for. Here every
    interval, also that of a run started by hand, lies on the grid of the source, so that the UI shows the interval that
    is processed. Origin and length are microseconds.
    """

    def __init__(self, origin: int, length: int) -> None:
        self.grid = Clock(origin, length)
        self.description = f"every {format_duration(length)}, counted from {format_time(origin)}"

    @property
    def summary(self) -> str:
        return format_duration(self.grid.length)

    def serialize(self) -> dict[str, Any]:
        return {"origin": self.grid.origin, "length": self.grid.length}

    @classmethod
    def deserialize(cls, data: dict[str, Any]) -> EpochTimetable:
        return cls(data["origin"], data["length"])

    def last_complete(self, moment: datetime) -> DataInterval:
        """The interval that ended last at `moment` or before it."""
        return self._interval(self._number(moment) - 1)

    def infer_manual_data_interval(self, *, run_after: datetime) -> DataInterval:
        return self.last_complete(run_after)

    def next_dagrun_info(
        self, *, last_automated_data_interval: DataInterval | None, restriction: TimeRestriction
    ) -> DagRunInfo | None:
        """The interval after the last one; without `catchup` none before the last complete one."""
        number = 0
        if restriction.earliest is not None:
            number = max(number, -((self.grid.origin - _microseconds(restriction.earliest)) // self.grid.length))
        if not restriction.catchup:
            number = max(number, self._number(datetime.now(UTC)) - 1)
        if last_automated_data_interval is not None:
            number = max(number, self._number(last_automated_data_interval.end))
        start, end = self._interval(number)
        if last_automated_data_interval is not None:
            # After a change of the schedule the last end may lie within an interval of the new grid.
            start = max(start, last_automated_data_interval.end)
        if restriction.latest is not None and start > restriction.latest:
            return None
        return DagRunInfo.interval(start=start, end=end)

    def _number(self, moment: datetime) -> int:
        return self.grid.epoch_of(_microseconds(moment))

    def _interval(self, number: int) -> DataInterval:
        start, end = (to_datetime(self.grid.start_of(at)) for at in (number, number + 1))
        return DataInterval(coerce_datetime(start), coerce_datetime(end))


def _microseconds(moment: datetime) -> int:
    """Airflow's moments are pendulum's, whose differences do not divide as Python's do."""
    return to_microseconds(datetime.fromisoformat(moment.isoformat()))
