"""The Airflow DAGs of Farwatch: three for every source of the configuration, which run, audit and maintain it."""

from __future__ import annotations

import os
from pathlib import Path

from farwatch_airflow.dags import all_dags
from monitoring_lib.documents.folder import folder_and_environment

HOME = Path(os.environ.get("FARWATCH_HOME") or Path(__file__).parent.parent).absolute()
conf, environment = folder_and_environment()

for made in all_dags(HOME, HOME / conf, environment):
    globals()[made.dag_id] = made
