"""What the scheduler gets to see: parsed in a process of its own, nothing runs."""

from __future__ import annotations

from dataclasses import fields

import pytest

from monitoring_lib.config import Airflow
from monitoring_lib.epochs import parse_duration, parse_patience
from monitoring_lib.scheduling import Scheduling
from monitoring_lib.verbs import VERBS
from tests.dags.conftest import Described, write_conf

STEPS = list(VERBS)
SAYS = (
    "airflow: {catchup: true, retries: 4, retry_delay: 0s, timeout: 1h30m, pool: small, owner: netops, audit: 12h,"
    " maintain: 2d}\n"
)
SOURCES = {
    "cdn": "epoch: 15m\nschedule: 1h\norigin: 2026-01-01\n",
    "more": f"epoch: 1h\norigin: 2026-01-01\n{SAYS}",
    "unknown": "epoch: 1h\norigin: 2026-01-01\nairflow: {retry: 3}\n",
    "flights": "name: flights\nepoch: 1d\norigin: 2001-01-01T06:00:00Z\n",
    "typo": "name: typo\nepoch: 1 fortnight\norigin: 2026-01-01\n",
    "torn": "name: [torn\n",
}
MONITORS = {"top-assets": "name: top-assets\nsource: cdn\n", "busiest": "name: busiest\nsource: flights\n"}


@pytest.fixture(scope="module")
def found(describe, tmp_path_factory) -> Described:
    home = tmp_path_factory.mktemp("home")
    write_conf(home, SOURCES, MONITORS)
    overlay = home / "conf" / "cluster" / "sources"
    overlay.mkdir(parents=True)
    (overlay / "cdn.yml").write_text("schedule: 30m\n")
    (overlay / "added.yml").write_text("epoch: 10s\norigin: 2026-01-01\n")
    return describe(home) | {"home": home}


@pytest.fixture(scope="module")
def cdn(found: Described) -> Described:
    return found["dags"]["epochs-cdn"]


def test_parsing_imports_nothing_heavy_and_opens_no_connection(found: Described) -> None:
    print(f"dags/farwatch_epochs.py was parsed in {found['seconds']:.3f} s, Airflow's own import not counted")
    assert found["heavy"] == []
    assert len(found["ours"]) < 12, found["ours"]
    assert found["connections"] == []


def test_every_source_has_a_dag_and_a_faulty_file_takes_no_other_down(found: Described) -> None:
    sources = ("cdn", "flights", "more")
    assert set(found["dags"]) == {
        *(f"{kind}-{source}" for kind in ("epochs", "audit", "maintain") for source in sources),
        "faulty-base-sources-typo.yml",
        "faulty-base-sources-torn.yml",
        "faulty-base-sources-unknown.yml",
    }
    faulty = found["dags"]["faulty-base-sources-typo.yml"]
    assert "typo.yml:2: epoch: '1 fortnight': '1 fortnight' is not a duration" in faulty["doc"]
    assert [task["arguments"] for task in faulty["tasks"].values()] == [["check-config"]]
    unknown = found["dags"]["faulty-base-sources-unknown.yml"]
    assert "airflow.retry: 3: unknown key; did you mean 'retries'?" in unknown["doc"]


def test_an_overlay_changes_and_adds_sources(describe, found: Described) -> None:
    dags = describe(found["home"], FARWATCH_ENV="cluster")["dags"]
    assert dags["epochs-cdn"]["intervals"][0] == ["2026-01-01T00:00:00+00:00", "2026-01-01T00:30:00+00:00"]
    assert "epochs-added" in dags


def test_an_environment_that_is_not_there_is_told_and_the_base_is_scheduled(describe, found: Described) -> None:
    dags = describe(found["home"], FARWATCH_ENV="clustre")["dags"]
    assert "epochs-cdn" in dags
    [told] = [dag["doc"] for name, dag in dags.items() if "there is no environment" in dag["doc"]]
    assert "did you mean 'cluster'?" in told


def test_eight_steps_stand_in_one_chain(cdn: Described) -> None:
    assert cdn["order"] == STEPS
    assert [cdn["tasks"][step]["after"] for step in STEPS] == [[], *([step] for step in STEPS[:-1])]


def test_alert_is_a_teardown_that_does_not_decide_how_the_run_ended(cdn: Described) -> None:
    assert [step for step in STEPS if cdn["tasks"][step]["teardown"]] == ["alert"]
    assert not cdn["tasks"]["alert"]["decides"]


def test_a_step_works_on_the_deployment_that_the_dag_was_made_for(found: Described, cdn: Described) -> None:
    home = str(found["home"])
    for step in STEPS:
        assert cdn["tasks"][step]["kind"] == "StepOperator"
        assert cdn["tasks"][step]["env"] == {"FARWATCH_HOME": home, "FARWATCH_CONF": f"{home}/conf"}


def test_one_run_at_a_time_and_a_step_that_hangs_fails_before_its_run_does(found: Described) -> None:
    for name in ("epochs-cdn", "epochs-more"):
        dag = found["dags"][name]
        assert dag["max_active_runs"] == 1
        tasks = dag["tasks"].values()
        longest = sum((1 + task["retries"]) * (task["limit"] + task["retry_delay"]) for task in tasks)
        assert dag["limit"] > longest


def test_what_a_source_says_to_the_scheduler_holds_for_its_steps(found: Described, cdn: Described) -> None:
    keys = ("retries", "retry_delay", "limit", "pool", "owner")
    silent, spoken = cdn["tasks"].values(), found["dags"]["epochs-more"]["tasks"].values()
    assert {tuple(task[key] for key in keys) for task in silent} == {(2, 15.0, 1800.0, "default_pool", "farwatch")}
    assert {tuple(task[key] for key in keys) for task in spoken} == {(4, 0.0, 5400.0, "small", "netops")}
    assert (cdn["catchup"], found["dags"]["epochs-more"]["catchup"]) == (False, True)
    others = [found["dags"][f"{kind}-{source}"] for kind in ("audit", "maintain") for source in ("cdn", "more")]
    assert not any(dag["catchup"] for dag in others)  # whatever Airflow's own default is


def test_intervals_start_at_the_origin_and_last_as_the_schedule_says(found: Described, cdn: Described) -> None:
    assert cdn["intervals"][:2] == [
        ["2026-01-01T00:00:00+00:00", "2026-01-01T01:00:00+00:00"],
        ["2026-01-01T01:00:00+00:00", "2026-01-01T02:00:00+00:00"],
    ]
    assert found["dags"]["epochs-flights"]["intervals"][0] == [
        "2001-01-01T06:00:00+00:00",
        "2001-01-02T06:00:00+00:00",
    ]


def test_a_run_covers_whole_intervals_counted_from_the_origin(found: Described) -> None:
    hourly, daily = found["borders"]["epochs-cdn"], found["borders"]["epochs-flights"]
    for kind in ("by hand, with a logical date", "by hand, no logical date"):
        assert hourly[kind] == ["2026-03-04T04:00:00+00:00", "2026-03-04T05:00:00+00:00"]
        assert daily[kind] == ["2026-03-02T06:00:00+00:00", "2026-03-03T06:00:00+00:00"]


def test_a_run_by_hand_covers_the_range_it_is_given_but_not_half_a_range(found: Described) -> None:
    of_cdn = found["borders"]["epochs-cdn"]
    assert of_cdn["by hand, with a range"] == ["2026-03-01T00:00:00+00:00", "2026-03-02T00:00:00+00:00"]
    assert of_cdn["half a range"] == ["AirflowFailException", "give both From and To, or neither"]


def test_the_form_checks_what_a_person_enters(cdn: Described) -> None:
    assert set(cdn["params"]) == {"from", "to", "revise"}
    assert cdn["params"]["from"]["format"] == cdn["params"]["to"]["format"] == "date-time"
    assert all("null" in param["type"] for param in cdn["params"].values())  # the form can be sent as it opens


def test_dag_and_tasks_say_what_they_do(cdn: Described) -> None:
    assert "top-assets" in cdn["doc"]
    assert "busiest" not in cdn["doc"]
    assert all(len(task["doc"]) > 20 for task in cdn["tasks"].values())


def test_the_seal_announces_and_the_alert_for_a_seal_that_failed(cdn: Described) -> None:
    announced = {step: task["outlets"] for step, task in cdn["tasks"].items() if task["outlets"]}
    assert announced == {"seal": ["farwatch-sealed-cdn"], "alert": ["farwatch-sealed-cdn"]}


def test_the_task_that_seals_links_to_the_answers(cdn: Described) -> None:
    links = {step: task["links"] for step, task in cdn["tasks"].items() if task["links"]}
    assert links == {"seal": {"Answers": "http://localhost:8080/farwatch/#source/cdn"}}


def test_every_source_is_audited_and_maintained_on_a_schedule_of_its_own(found: Described) -> None:
    audit, maintain = found["dags"]["audit-more"], found["dags"]["maintain-more"]
    assert (audit["timetable"][1], maintain["timetable"][1]) == ("12h", "2d")
    assert (found["dags"]["audit-cdn"]["timetable"][1], found["dags"]["maintain-cdn"]["timetable"][1]) == ("1d", "1d")
    assert audit["tasks"]["audit"]["arguments"] == ["audit", "more"]
    assert set(audit["params"]) == {"from", "to"}
    assert maintain["tasks"]["maintain"]["arguments"] == ["maintain", "more"]
    for task in (audit["tasks"]["audit"], maintain["tasks"]["maintain"]):
        assert (task["retries"], task["pool"], task["owner"]) == (4, "small", "netops")
        assert len(task["doc"]) > 20


def test_the_scheduler_and_the_configuration_have_the_same_defaults() -> None:
    said, meant = Scheduling(), Airflow()
    assert {key.name for key in fields(Scheduling)} == set(Airflow.model_fields)
    assert parse_patience(said.retry_delay) == meant.retry_delay
    assert parse_duration(said.timeout) == meant.timeout
    assert (parse_duration(said.audit), parse_duration(said.maintain)) == (meant.audit, meant.maintain)
    for key in ("catchup", "retries", "pool", "owner"):
        assert getattr(said, key) == getattr(meant, key)


def test_the_driver_of_a_range_has_the_same_steps_in_the_same_order() -> None:
    from jobs.command import run

    assert tuple(run.STEPS) == VERBS
