"""Run as a script: asks the page's routes with and without a login, over a stand-in for `farwatch`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from airflow.api_fastapi.core_api import security
from fastapi.testclient import TestClient

from farwatch_airflow import page
from farwatch_airflow.plugin import FarwatchPlugin

FOLDER = Path(sys.argv[1])
ROUTES = ("/", "/api/status", "/api/monitors/busiest?history=2", "/api/answers?limit=5&offset=10", "/api/openapi.json")
ASKED = (
    *ROUTES, "/api/monitors/unknown", "/api/answers?limit=0", "/api/messages?monitor=x' OR 1=1",
    "/api/messages?limit=1&monitor=busiest&from=2020-01-01T02:00&to=2020-01-01T05:00%2B01:00",
)  # fmt: skip
SCRIPT = """#!/bin/sh
case "$1 $*" in
  report*) while [ ! -e "$(dirname "$0")/may be made" ]; do sleep 0.05; done; echo '<p>the page</p>' > "$3";;
  *unknown*) echo 'farwatch: there is no monitor unknown' >&2; exit 2;;
  *) python3 -c 'import json, sys; print(json.dumps(sys.argv[1:]))' "$@";;
esac
"""


def answer(client: TestClient, route: str) -> dict[str, Any]:
    found = client.get(route)
    return {"code": found.status_code, "text": found.text, "kind": found.headers["content-type"]}


def main() -> None:
    path = FOLDER / "farwatch"
    path.write_text(SCRIPT)
    path.chmod(0o755)
    os.environ["PATH"] = os.pathsep.join([str(FOLDER), os.environ["PATH"]])
    made = page.app()
    routes = [route.path for route in made.routes]
    client = TestClient(made)
    found: dict[str, Any] = {"routes": routes, "stranger": {route: answer(client, route)["code"] for route in ROUTES}}
    made.dependency_overrides[security.get_user] = lambda: SimpleNamespace(name="somebody")
    for allowed in (False, True):
        manager = SimpleNamespace(is_authorized_view=lambda access_view, user, allowed=allowed: allowed)
        with patch.object(security, "get_auth_manager", lambda manager=manager: manager):
            if allowed:
                found["while it is made"] = answer(client, "/")
                (FOLDER / "may be made").touch()
                while answer(client, "/")["code"] == 202:
                    pass
            asked = {route: answer(client, route) for route in ASKED}
        found["allowed" if allowed else "refused"] = asked
    found["plugin"] = [FarwatchPlugin.fastapi_apps[0]["url_prefix"], FarwatchPlugin.external_views[0]["href"]]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
