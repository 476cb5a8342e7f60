"""The page inside Airflow: nothing answers without a login, and what the command says is what a client gets."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from monitoring_lib.tables import ANSWERS
from tests.dags.conftest import Described, in_own_process
from tests.jobs.sealed_home import BUSIEST, SealedHome, bought


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


def test_while_the_page_is_made_a_visitor_is_told_so_and_comes_again(found: Described) -> None:
    told = found["while it is made"]
    assert (told["code"], told["kind"].startswith("text/html")) == (202, True)
    assert "The page is being made" in told["text"]
    assert "location.reload()" in told["text"]


def test_the_api_asks_the_command_and_pages(found: Described) -> None:
    assert json.loads(found["allowed"]["/api/status"]["text"]) == ["status", "--json"]
    asked = json.loads(found["allowed"]["/api/monitors/busiest?history=2"]["text"])
    assert asked == ["query", "--json", "--history=2", "--", "busiest"]
    rows = json.loads(found["allowed"]["/api/answers?limit=5&offset=10"]["text"])
    everything = ", ".join(str(at) for at in range(1, 14))
    assert rows[-1].endswith(f"FROM answers ORDER BY epoch_start DESC, {everything} LIMIT 5 OFFSET 10")
    assert found["allowed"]["/api/answers?limit=0"]["code"] == 422


def test_rows_are_chosen_by_monitor_and_time_and_no_other_text_gets_into_the_query(found: Described) -> None:
    [chosen] = [text for route, text in found["allowed"].items() if "monitor=busiest" in route]
    assert (
        "WHERE monitor = 'busiest' AND epoch_start >= TIMESTAMPTZ '2020-01-01T02:00:00+00:00'"
        " AND epoch_start < TIMESTAMPTZ '2020-01-01T04:00:00+00:00' ORDER BY"
    ) in json.loads(chosen["text"])[-1]
    assert found["allowed"]["/api/messages?monitor=x' OR 1=1"]["code"] == 422


def test_what_is_unknown_is_not_found_in_the_commands_own_words(found: Described) -> None:
    missing = found["allowed"]["/api/monitors/unknown"]
    assert (missing["code"], json.loads(missing["text"])) == (404, {"detail": "there is no monitor unknown"})


def test_the_api_describes_itself_behind_the_login(found: Described) -> None:
    paths = json.loads(found["allowed"]["/api/openapi.json"]["text"])["paths"]
    names = [one["name"] for one in paths["/api/answers"]["get"]["parameters"]]
    assert names == ["limit", "offset", "monitor", "from", "to"]


def test_a_client_reads_all_rows_page_by_page(tmp_path: Path) -> None:
    shop = SealedHome(tmp_path / "shop", monitors=(BUSIEST | {"tolerance": 0},))
    shop.land([*bought(0, north="aab"), *bought(1, north="c", south="cc")])
    shop.run(0, 2)
    command = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    given = {"AIRFLOW_HOME": str(tmp_path / "airflow"), "PATH": command} | shop.environment
    read = in_own_process("read.py", given)
    centre = shop.context().lake.centre
    assert len(read["answers"]) == centre.read(ANSWERS).num_rows > read["limit"]
    assert len({json.dumps(row) for row in read["answers"]}) == len(read["answers"])
    newest = [row for row in read["answers"] if row["epoch_start"] == "2020-01-01T01:00Z"]
    assert {row["key"]: row["estimate"] for row in newest} == {"c": 3.0, "a": 2.0}
    assert read["status"]["sources"][0]["monitors"][0]["monitor"] == "busiest"
    assert read["messages"]["columns"][:3] == ["monitor", "method", "epoch_start"]


def test_airflow_finds_the_page_through_the_plugin(found: Described) -> None:
    assert found["plugin"] == ["/farwatch", "/farwatch/"]
