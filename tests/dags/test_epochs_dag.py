"""What the scheduler gets to see: parsed in a process of its own, nothing runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dags.conftest import Described, write_conf

STEPS = ["land", "gate", "summarise", "observe", "resolve", "validate", "seal", "alert"]
SOURCES = {
    "cdn": "epoch: 15m\nschedule: 1h\norigin: 2026-01-01\n",
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
    (overlay / "more.yml").write_text("epoch: 10s\norigin: 2026-01-01\n")
    return describe(home) | {"home": home}


@pytest.fixture(scope="module")
def cdn(found: Described) -> Described:
    return found["dags"]["epochs-cdn"]


def test_parsing_imports_nothing_heavy_and_opens_no_connection(found: Described) -> None:
    print(f"dags/epochs.py was parsed in {found['seconds']:.3f} s, Airflow's own import not counted")
    assert found["heavy"] == []
    assert found["connections"] == []


def test_every_source_has_a_dag_and_a_faulty_file_takes_no_other_down(found: Described) -> None:
    assert set(found["dags"]) == {
        "epochs-cdn",
        "epochs-flights",
        "faulty-sources-typo.yml",
        "faulty-sources-torn.yml",
    }
    faulty = found["dags"]["faulty-sources-typo.yml"]
    assert "fortnight" in faulty["doc"]
    assert [task["command"] for task in faulty["tasks"].values()] == ["farwatch check-config"]


def test_an_overlay_changes_and_adds_sources(describe, found: Described) -> None:
    dags = describe(found["home"], FARWATCH_ENV="cluster")["dags"]
    assert dags["epochs-cdn"]["intervals"][0] == ["2026-01-01T00:00:00+00:00", "2026-01-01T00:30:00+00:00"]
    assert "epochs-more" in dags


def test_eight_steps_stand_in_one_chain(cdn: Described) -> None:
    assert cdn["order"] == STEPS
    assert [cdn["tasks"][step]["after"] for step in STEPS] == [[], *([step] for step in STEPS[:-1])]


def test_alert_is_a_teardown_that_does_not_decide_how_the_run_ended(cdn: Described) -> None:
    assert [step for step in STEPS if cdn["tasks"][step]["teardown"]] == ["alert"]
    assert not cdn["tasks"]["alert"]["decides"]


def test_a_step_is_a_fixed_command_line_and_all_else_comes_through_the_environment(cdn: Described) -> None:
    for step in STEPS:
        task = cdn["tasks"][step]
        assert task["command"].startswith(f'given=$(farwatch {step} --source "$FARWATCH_SOURCE"')
        assert "{{" not in task["command"]
    assert cdn["tasks"]["land"]["env"]["FARWATCH_GIVEN"] == "{{ newest(ti, []) }}"
    assert cdn["tasks"]["gate"]["env"]["FARWATCH_GIVEN"] == "{{ newest(ti, ['land']) }}"


def test_one_run_at_a_time_within_limits_and_no_catching_up(describe, found: Described, cdn: Described) -> None:
    assert cdn["max_active_runs"] == 1
    assert cdn["catchup"] is False
    tries = 1 + max(task["retries"] for task in cdn["tasks"].values())
    assert cdn["limit"] >= tries * sum(task["limit"] for task in cdn["tasks"].values())
    asked = describe(found["home"], FARWATCH_CATCHUP="flights,cdn")["dags"]
    assert asked["epochs-cdn"]["catchup"] is True


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
    for kind in ("scheduled", "off the grid", "by hand, no logical date"):
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


def test_only_the_seal_announces_anything(cdn: Described) -> None:
    announced = {step: task["outlets"] for step, task in cdn["tasks"].items() if task["outlets"]}
    assert announced == {"seal": ["farwatch-sealed-cdn"]}


def test_durations_and_times_mean_what_the_jobs_take_them_to_mean(monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "dags"))
    import conf_sources

    from monitoring_lib.epochs import parse_duration, parse_time, to_microseconds

    for text in ("10s", "5m", "1d", "1h30m", "2w", " 250 ms "):
        assert conf_sources.duration(text).total_seconds() * 1e6 == parse_duration(text)
    for text in ("2001-01-01", "2001-01-31T06:00Z", "2001-01-31T06:00+02:00", "2001-01-31 06:00"):
        assert to_microseconds(conf_sources.time(text)) == parse_time(text)
    for text in ("", "5", "5x", "m", "5m!"):
        with pytest.raises(ValueError, match="not a duration"):
            conf_sources.duration(text)
