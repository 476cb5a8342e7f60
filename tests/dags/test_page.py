"""The page inside Airflow: nothing answers without a login, and what the command says is what a client gets."""

from __future__ import annotations

import json

import pytest

from tests.dags.conftest import Described, in_own_process


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Described:
    folder = tmp_path_factory.mktemp("serve")
    return in_own_process("serve.py", {"AIRFLOW_HOME": str(folder / "airflow")}, str(folder))


def test_no_route_answers_without_a_login(found: Described) -> None:
    assert set(found["stranger"].values()) == {401}


def test_a_user_who_may_not_see_the_website_is_refused(found: Described) -> None:
    assert {answer["code"] for answer in found["refused"].values()} <= {403, 422}


def test_there_is_no_route_beside_those_that_are_guarded(found: Described) -> None:
    assert set(found["routes"]) == {
        "/", "/api/status", "/api/monitors/{monitor}", "/api/answers", "/api/messages", "/api/verdicts", "/api/alerts",
        "/api/openapi.json",
    }  # fmt: skip


def test_the_page_is_what_the_report_command_writes(found: Described) -> None:
    page = found["allowed"]["/"]
    assert (page["code"], page["text"].strip()) == (200, "<p>the page</p>")
    assert page["kind"].startswith("text/html")


def test_the_api_asks_the_command_and_pages(found: Described) -> None:
    assert json.loads(found["allowed"]["/api/status"]["text"]) == ["status", "--json"]
    asked = json.loads(found["allowed"]["/api/monitors/busiest?history=2"]["text"])
    assert asked == ["query", "--json", "--history=2", "--", "busiest"]
    rows = json.loads(found["allowed"]["/api/answers?limit=5&offset=10"]["text"])
    assert rows[-1].endswith("FROM answers ORDER BY epoch_start DESC LIMIT 5 OFFSET 10")
    assert found["allowed"]["/api/answers?limit=0"]["code"] == 422


def test_what_is_unknown_is_not_found_in_the_commands_own_words(found: Described) -> None:
    missing = found["allowed"]["/api/monitors/unknown"]
    assert (missing["code"], json.loads(missing["text"])) == (404, {"detail": "there is no monitor unknown"})


def test_the_api_describes_itself_behind_the_login(found: Described) -> None:
    paths = json.loads(found["allowed"]["/api/openapi.json"]["text"])["paths"]
    assert "/api/answers" in paths


def test_airflow_finds_the_page_through_the_plugin(found: Described) -> None:
    assert found["plugin"] == ["/farwatch", "/farwatch/"]
