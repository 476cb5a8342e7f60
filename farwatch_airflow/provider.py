"""What Airflow shows of Farwatch among its providers; found through the entry-point group `apache_airflow_provider`."""

from __future__ import annotations

from typing import Any

from monitoring_lib import __version__


def get_provider_info() -> dict[str, Any]:
    return {
        "package-name": "farwatch",
        "name": "Farwatch",
        "description": "Watches what happens across many sites, epoch by epoch: operators, a task group, a timetable.",
        "versions": [__version__],
    }
