"""A real scheduler runs the DAGs; the command they call is a stand-in, so that every exit code can be had."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from jobs.local.servers import airflow_server
from jobs.local.servers.airflow_api import AirflowApi
from jobs.local.servers.process import Servers
from monitoring_lib.verbs import VERBS
from tests.browser import NO_BROWSER
from tests.dags.browser import Person, at_airflow
from tests.dags.conftest import ROOT, write_conf

pytestmark = [pytest.mark.airflow, pytest.mark.slow]

PATIENCE = 400.0
STEPS = list(VERBS)
DAY = timedelta(days=1)
AGES = {"steady": 3, "flaky": 1, "wrong": 1, "partly": 1, "gappy": 100}
"""How many whole epochs each source has behind it."""
SAYS = {"steady": "airflow: {catchup: true}\n", "flaky": "airflow: {retry_delay: 1s}\n"}
PLANS = {"flaky.gate": "3", "wrong.validate": "1", "partly.seal": "partly"}


@dataclass
class Stack:
    home: airflow_server.AirflowHome
    api: AirflowApi
    folder: Path
    servers: Servers
    border: datetime
    """The end of the last whole epoch: half an epoch ago, so that none ends while the tests run."""

    def ago(self, epochs: int) -> str:
        """The border that many epochs before the last."""
        return (self.border - epochs * DAY).isoformat()

    def start_running(self, source: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not self.api.knows(f"epochs-{source}"):
            assert time.monotonic() < deadline, f"the DAG of {source} was never parsed"
            time.sleep(0.2)
        self.api.patch(f"/dags/epochs-{source}", {"is_paused": False})

    def finished(self, source: str, kind: str, count: int, dag: str = "epochs") -> list[dict[str, Any]]:
        """The runs of a kind, oldest first, once there are `count` of them and all have ended."""
        deadline = time.monotonic() + PATIENCE
        while True:
            self.servers.check()
            asked = self.api.get(f"/dags/{dag}-{source}/dagRuns", order_by="run_after", limit=100)
            runs = [run for run in asked["dag_runs"] if run["run_type"] == kind]
            if len(runs) >= count and all(run["state"] in ("success", "failed") for run in runs):
                return runs
            assert time.monotonic() < deadline, f"runs of {source}: {[(r['run_type'], r['state']) for r in runs]}"
            time.sleep(0.5)

    def tasks(self, run: dict[str, Any]) -> dict[str, dict[str, Any]]:
        path = f"/dags/{run['dag_id']}/dagRuns/{run['dag_run_id']}/taskInstances"
        return {task["task_id"]: task for task in self.api.get(path)["task_instances"]}

    def calls(self, source: str) -> list[dict[str, Any]]:
        lines = (self.folder / "calls.jsonl").read_text().splitlines()
        return [call for call in map(json.loads, lines) if call["--source"] == source]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    home = tmp_path_factory.mktemp("home")
    border = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - DAY / 2
    origins = {name: border - age * DAY for name, age in AGES.items()}
    files = {name: f"epoch: 1d\norigin: {origin:%Y-%m-%dT%H:%MZ}\n" for name, origin in origins.items()}
    write_conf(home, {name: text + SAYS.get(name, "") for name, text in files.items()}, {})
    fake = home / "fake"
    fake.mkdir()
    command = fake / "farwatch"
    command.write_text(f"#!{sys.executable} -IS\n" + Path(__file__).with_name("fake_farwatch.py").read_text())
    command.chmod(0o755)
    for name, origin in origins.items():
        (fake / f"{name}.sealed.{origin.isoformat()}").touch()
    for name, codes in PLANS.items():
        (fake / name).write_text(codes)
    environment = {"FARWATCH_HOME": str(home), "FAKE_FARWATCH": str(fake)}
    airflow = airflow_server.prepare(home / "airflow", ROOT / "dags", environment, parallelism=2)
    airflow.environment["PATH"] = os.pathsep.join([str(fake), airflow.environment["PATH"]])
    airflow.run("db", "migrate")
    with Servers() as servers:
        parts = [servers.add(part) for part in airflow.begin()]
        airflow_server.wait_ready(airflow, parts)
        stack = Stack(airflow, airflow.api, fake, servers, border)
        for source in AGES:
            stack.start_running(source)
        yield stack


def test_three_epochs_run_in_order_and_each_step_gets_the_hand_over_of_the_one_before(stack: Stack) -> None:
    runs = stack.finished("steady", "scheduled", 3)
    assert [run["state"] for run in runs] == ["success"] * 3
    calls = stack.calls("steady")[: 3 * len(STEPS)]
    borders = [stack.ago(epochs) for epochs in (3, 2, 1, 0)]
    expected = [(verb, *borders[n : n + 2]) for n in range(3) for verb in STEPS]
    assert [(call["verb"], call["--from"], call["--to"]) for call in calls] == expected
    for before, call in pairwise(calls):
        if call["verb"] == "land":
            assert call["given"] is None
        else:
            assert call["given"]["verb"] == before["verb"]
            assert call["given"]["odd"] == "a \"site\" 'called' $HOME `x` {{ 1 }} €\n"


def test_every_sealed_monitor_gets_an_event_and_a_failed_one_does_not(stack: Stack) -> None:
    runs = {run["dag_run_id"] for run in stack.finished("steady", "scheduled", 3)}
    found = stack.api.get("/assets/events", source_dag_id="epochs-steady", limit=100)["asset_events"]
    events = [event for event in found if event["source_run_id"] in runs]
    assert {event["name"] for event in events} == {"farwatch-good"}
    assert sorted(event["extra"]["from"] for event in events) == [stack.ago(epochs) for epochs in (3, 2, 1)]


def test_exit_code_3_is_tried_again(stack: Stack) -> None:
    [run] = stack.finished("flaky", "scheduled", 1)
    assert run["state"] == "success"
    tries = {name: task["try_number"] for name, task in stack.tasks(run).items()}
    assert tries == {step: 2 if step == "gate" else 1 for step in STEPS}


def test_exit_code_1_is_final_and_alert_runs_but_the_run_stays_failed(stack: Stack) -> None:
    [run] = stack.finished("wrong", "scheduled", 1)
    assert run["state"] == "failed"
    tasks = stack.tasks(run)
    assert tasks["validate"]["state"] == "failed"
    assert tasks["validate"]["try_number"] == 1
    assert tasks["seal"]["state"] == "upstream_failed"
    assert tasks["alert"]["state"] == "success"
    alert = stack.calls("wrong")[-1]
    assert (alert["verb"], alert["given"]["verb"]) == ("alert", "resolve")


def test_a_monitor_that_fails_does_not_take_the_events_of_those_that_were_sealed(stack: Stack) -> None:
    [run] = stack.finished("partly", "scheduled", 1)
    assert run["state"] == "failed"
    tasks = stack.tasks(run)
    assert (tasks["seal"]["state"], tasks["alert"]["state"]) == ("failed", "success")
    assert stack.calls("partly")[-1]["given"]["verb"] == "seal"
    [event] = stack.api.get("/assets/events", source_dag_id="epochs-partly")["asset_events"]
    assert (event["name"], event["source_task_id"]) == ("farwatch-good", "alert")
    assert {key: event["extra"][key] for key in ("from", "to", "partial")} == {
        "from": stack.ago(1), "to": stack.ago(0), "partial": False
    }  # fmt: skip


def test_the_ui_shows_the_interval_that_is_processed(stack: Stack) -> None:
    [run] = stack.finished("flaky", "scheduled", 1)
    shown = [datetime.fromisoformat(run[f"data_interval_{end}"]).isoformat() for end in ("start", "end")]
    assert shown == [stack.ago(1), stack.ago(0)]
    assert shown == [stack.calls("flaky")[0][key] for key in ("--from", "--to")]


def test_the_log_of_a_failed_task_ends_with_the_reason_and_has_it_once(stack: Stack) -> None:
    [run] = stack.finished("wrong", "scheduled", 1)
    path = f"/dags/{run['dag_id']}/dagRuns/{run['dag_run_id']}/taskInstances/validate/logs/1"
    events = [line for line in stack.api.get(path)["content"] if "::" not in line["event"]]
    told = [at for at, line in enumerate(events) if "validate fell" in json.dumps(line)]
    assert told == [len(events) - 1]


def test_a_backfill_behind_a_gap_is_refused_by_the_gate_and_alert_runs(stack: Stack) -> None:
    start = stack.border - 95 * DAY
    # On SQLite, Airflow's scheduler can fall over a run that a backfill is just about to create.
    stack.api.patch("/dags/epochs-gappy", {"is_paused": True})
    stack.home.run(
        "backfill", "create", "--dag-id", "epochs-gappy", "--max-active-runs", "1",
        "--from-date", start.isoformat(), "--to-date", (start + DAY).isoformat(),
    )  # fmt: skip
    stack.api.patch("/dags/epochs-gappy", {"is_paused": False})
    for run in stack.finished("gappy", "backfill", 2):
        assert run["state"] == "failed"
        tasks = stack.tasks(run)
        assert (tasks["gate"]["state"], tasks["gate"]["try_number"]) == ("failed", 1)
        assert tasks["summarise"]["state"] == "upstream_failed"
        assert tasks["alert"]["state"] == "success"


def test_a_run_by_hand_covers_what_the_form_says_and_the_reason_is_only_text(stack: Stack) -> None:
    stack.finished("steady", "scheduled", 3)
    reason = "late 'rows' \"of\" $(touch /tmp/never) ; `id` {{ 7 * 7 }}"
    whole = {"from": stack.ago(3), "to": stack.ago(0), "revise": reason}
    stack.api.post("/dags/epochs-steady/dagRuns", {"logical_date": None, "conf": whole})
    stack.api.post("/dags/epochs-steady/dagRuns", {"logical_date": None})
    runs = stack.finished("steady", "manual", 2)
    assert [run["state"] for run in runs] == ["success", "success"]
    by_hand = stack.calls("steady")[3 * len(STEPS) :]
    covered = Counter(tuple(call.get(key) for key in ("--from", "--to", "--revise")) for call in by_hand)
    assert covered == dict.fromkeys([tuple(whole.values()), (stack.ago(1), stack.ago(0), None)], len(STEPS))


def test_the_form_refuses_what_is_no_time(stack: Stack) -> None:
    with pytest.raises(Exception, match="400"):
        stack.api.post("/dags/epochs-steady/dagRuns", {"logical_date": None, "conf": {"from": "yesterday"}})


@pytest.fixture(scope="module")
def person(stack: Stack) -> Iterator[Person]:
    if NO_BROWSER:
        pytest.skip(NO_BROWSER)
    stack.finished("steady", "scheduled", 3)
    with at_airflow(stack.home.url, stack.home.password) as person:
        yield person


def test_a_person_starts_a_run_by_the_form(stack: Stack, person: Person) -> None:
    before = len(stack.calls("steady"))
    runs = len(stack.finished("steady", "manual", 0))
    person.open("/dags/epochs-steady")
    person.click("[data-testid=trigger-dag-button]")
    # The first field is Airflow's own logical date.
    person.pick_time(stack.border - 2 * DAY, 1)
    person.pick_time(stack.border - DAY, 2)
    person.find("#element_revise").send_keys("late rows")
    person.click("[data-testid=trigger-dag-submit]")
    assert stack.finished("steady", "manual", runs + 1)[-1]["state"] == "success"
    asked = [(call["verb"], call["--from"], call["--to"], call["--revise"]) for call in stack.calls("steady")[before:]]
    assert asked == [(verb, stack.ago(2), stack.ago(1), "late rows") for verb in STEPS]


def test_a_person_starts_a_backfill(stack: Stack, person: Person) -> None:
    before = len(stack.calls("steady"))
    person.open("/dags/epochs-steady")
    person.click("[data-testid=trigger-dag-button]")
    person.choose("backfill")
    person.choose("completed")
    person.pick_time(stack.border - 2 * DAY, 0)
    person.pick_time(stack.border - DAY, 1)
    person.press("Run Backfill")
    runs = stack.finished("steady", "backfill", 2)
    assert [run["state"] for run in runs] == ["success"] * 2
    covered = {(call["--from"], call["--to"]) for call in stack.calls("steady")[before:]}
    assert covered == {(stack.ago(epochs), stack.ago(epochs - 1)) for epochs in (2, 1)}


def test_a_person_starts_an_audit_of_everything(stack: Stack, person: Person) -> None:
    person.open("/dags/audit-steady")
    person.click("[data-testid=trigger-dag-button]")
    person.click("[data-testid=trigger-dag-submit]")
    [run] = stack.finished("steady", "manual", 1, dag="audit")
    assert run["state"] == "success"
    audits = [call for call in stack.calls("steady") if call["verb"] == "audit"]
    assert len([call for call in audits if not {"--from", "--to"} & call.keys()]) == 1
    person.open(f"/dags/audit-steady/runs/{run['dag_run_id']}")
    person.reads("Success")
