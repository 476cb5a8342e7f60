"""What we ask a running Airflow, over its REST interface, as the user whose password we hold."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jobs.local.servers.process import ServerFailed

LONGEST_CALL = 60.0
# Loopback is never behind a proxy, whatever the environment says about the world outside.
_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass
class AirflowApi:
    base_url: str
    user: str
    password: str = field(repr=False)
    _token: str | None = field(default=None, repr=False)

    def is_healthy(self) -> bool:
        """Whether server, scheduler and DAG processor all report that they work."""
        try:
            health = self._call("GET", "/api/v2/monitor/health", token=False)
        except (OSError, ValueError):
            return False
        parts = (health.get(part) or {} for part in ("scheduler", "dag_processor"))
        return all(part.get("status") == "healthy" for part in parts)

    def get(self, path: str, **query: str | int | bool) -> Any:
        return self._asked("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""), None)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._asked("POST", path, body)

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._asked("PATCH", path, body)

    def knows(self, dag: str) -> bool:
        try:
            self._call("GET", f"/api/v2/dags/{dag}")
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return False
            raise ServerFailed(f"Airflow refuses /api/v2/dags/{dag}: {_reason(error)}") from error
        except OSError as error:
            raise ServerFailed(f"Airflow does not answer at {self.base_url}: {error}") from error
        return True

    def _asked(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        try:
            return self._call(method, "/api/v2" + path, body)
        except urllib.error.HTTPError as error:
            raise ServerFailed(f"Airflow refuses {method} {path}: {_reason(error)}") from error
        except OSError as error:
            raise ServerFailed(f"Airflow does not answer at {self.base_url}: {error}") from error

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None, token: bool = True) -> Any:
        headers = {"Content-Type": "application/json"}
        if token:
            if self._token is None:
                credentials = {"username": self.user, "password": self.password}
                self._token = self._call("POST", "/auth/token", credentials, token=False)["access_token"]
            headers["Authorization"] = f"Bearer {self._token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base_url + path, data=data, headers=headers, method=method)
        with _direct.open(request, timeout=LONGEST_CALL) as answer:
            text = answer.read()
        return json.loads(text) if text else None


def _reason(error: urllib.error.HTTPError) -> str:
    return f"{error.code} {error.read().decode(errors='replace')[:500]}"
