"""Run as a script: reads the page's API as a client would, by its own description, over the real `farwatch`."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from airflow.api_fastapi.core_api import security
from fastapi.testclient import TestClient

from farwatch_airflow import page

LIMIT = 3


def pages(client: TestClient, path: str) -> list[dict[str, Any]]:
    """Every row, page by page, until one is not full."""
    found: list[dict[str, Any]] = []
    while True:
        answer = client.get(path, params={"limit": LIMIT, "offset": len(found)}).raise_for_status().json()
        found += [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]
        if len(answer["rows"]) < LIMIT:
            return found


def main() -> None:
    made = page.app()
    made.dependency_overrides[security.get_user] = lambda: SimpleNamespace(name="somebody")
    manager = SimpleNamespace(is_authorized_view=lambda access_view, user: True)
    client = TestClient(made)
    with patch.object(security, "get_auth_manager", lambda: manager):
        described = client.get("/api/openapi.json").raise_for_status().json()["paths"]
        [answers] = [path for path in described if path.endswith("/answers")]
        found = {
            "limit": LIMIT,
            "answers": pages(client, answers),
            "messages": client.get("/api/messages", params={"monitor": "busiest"}).raise_for_status().json(),
            "status": client.get("/api/status").raise_for_status().json(),
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
