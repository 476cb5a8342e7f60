"""Registers what Airflow has to find by name when it reads a stored DAG, and the page "Farwatch" of its UI."""

from __future__ import annotations

from airflow.plugins_manager import AirflowPlugin

from farwatch_airflow import page
from farwatch_airflow.links import PREFIX
from farwatch_airflow.timetable import EpochTimetable


class FarwatchPlugin(AirflowPlugin):
    """Found through the entry-point group `airflow.plugins`."""

    name = "farwatch"
    # Lists, as Airflow's own class has them.
    timetables = [EpochTimetable]  # noqa: RUF012
    fastapi_apps = [{"app": page.app(), "url_prefix": PREFIX, "name": "Farwatch"}]  # noqa: RUF012
    external_views = [page.view()]  # noqa: RUF012
