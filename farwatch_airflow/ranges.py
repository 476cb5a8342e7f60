"""The operator of a command that works on the range of epochs which a run covers."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Context

from farwatch_airflow.operators import FarwatchOperator
from farwatch_airflow.steps import covered
from farwatch_airflow.timetable import EpochTimetable


class RangeOperator(FarwatchOperator):
    """Runs `arguments` with `--from` and `--to` of what the run covers, as a step does.

    A run that a person starts without From and To gets neither: the command then takes everything there is.
    """

    def __init__(self, *, timetable: EpochTimetable, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.timetable = timetable

    def execute(self, context: Context) -> Any:
        run, params = context["dag_run"], context["params"]
        if run.run_type != "manual" or params.get("from") or params.get("to"):
            start, end = covered(self.timetable, run, params)
            self.arguments = [*self.arguments, f"--from={start}", f"--to={end}"]
        return super().execute(context)
