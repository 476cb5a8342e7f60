"""The link from a task to the answers that it sealed."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from airflow.sdk import BaseOperatorLink
from airflow.sdk.configuration import conf

PREFIX = "/farwatch"
"""Where Airflow's API server has the page of Farwatch."""


class AnswersLink(BaseOperatorLink):
    """To the page "Farwatch", with the monitors of the operator's `source`."""

    name = "Answers"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        base = str(conf.get("api", "base_url", fallback="http://localhost:8080"))
        return f"{base.rstrip('/')}{PREFIX}/#source/{quote(operator.source, safe='')}"
