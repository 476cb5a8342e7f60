"""An Airflow DAG of your own with the epochs of a source in the middle of it.

Copy it into your DAG folder. It needs `pip install "farwatch[airflow]"` in Airflow's environment, and `farwatch` on
the PATH of the workers. The intervals of the DAG are whole epochs of the source, counted from its origin.
"""

import os

from airflow.sdk import DAG, task

from farwatch_airflow.groups import EpochTaskGroup, source_named, timetable_of
from monitoring_lib.epochs import to_datetime

HOME = os.environ.get("FARWATCH_HOME", "/srv/farwatch")
cdn = source_named("cdn", HOME)

with DAG("content-network", schedule=timetable_of(cdn), start_date=to_datetime(cdn.origin), max_active_runs=1) as dag:

    @task
    def fetch_logs() -> None:
        """Puts the files of the interval where the source looks for them."""

    @task
    def publish() -> None:
        """Runs once the epochs of the interval are sealed."""

    fetch_logs() >> EpochTaskGroup(cdn, home=HOME) >> publish()
