"""What a source's file says to the scheduler under `airflow`, and what holds where it says nothing.

Standard library only: the models of the configuration and the DAGs both take the defaults from here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scheduling:
    """The keys of `airflow`, as they are written."""

    catchup: bool = False
    retries: int = 2
    retry_delay: str = "15s"
    timeout: str = "30m"
    pool: str = "default_pool"
    owner: str = "farwatch"
    audit: str = "1d"
    maintain: str = "1d"
