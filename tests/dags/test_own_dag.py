"""The steps of a source inside a DAG of somebody else's, as the example shows it; Farwatch as a provider."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from monitoring_lib import __version__
from monitoring_lib.verbs import VERBS
from tests.dags.conftest import ROOT, Described, in_own_process, write_conf

SOURCE = "epoch: 1h\norigin: 2026-01-01\nairflow: {retries: 5, owner: netops}\n"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Described:
    home = tmp_path_factory.mktemp("home")
    write_conf(home, {"cdn": SOURCE}, {})
    environment = {"AIRFLOW_HOME": str(tmp_path_factory.mktemp("airflow")), "FARWATCH_HOME": str(home)}
    return in_own_process("describe.py", environment, str(ROOT / "examples" / "own_dag.py")) | {"home": home}


def test_what_comes_after_the_group_waits_for_the_seal(own: Described) -> None:
    tasks = own["dags"]["content-network"]["tasks"]
    steps = [f"epochs-cdn.{verb}" for verb in VERBS]
    assert set(tasks) == {"fetch_logs", *steps, "publish"}
    assert tasks["epochs-cdn.land"]["after"] == ["fetch_logs"]
    assert tasks["publish"]["after"] == ["epochs-cdn.seal"]
    assert [name for name, task in tasks.items() if task["teardown"]] == ["epochs-cdn.alert"]


def test_the_steps_are_as_the_sources_file_says(own: Described) -> None:
    tasks = own["dags"]["content-network"]["tasks"]
    for verb in VERBS:
        step = tasks[f"epochs-cdn.{verb}"]
        assert (step["retries"], step["owner"]) == (5, "netops")
        assert step["env"]["FARWATCH_CONF"] == str(Path(own["home"]) / "conf")


def test_parsing_it_stays_cheap(own: Described) -> None:
    assert own["heavy"] == []
    assert own["connections"] == []


def test_airflow_finds_farwatch_among_its_providers() -> None:
    [found] = [entry for entry in entry_points(group="apache_airflow_provider") if entry.name == "provider_info"
               and entry.value.startswith("farwatch_airflow")]  # fmt: skip
    info = found.load()()
    assert (info["package-name"], info["versions"]) == ("farwatch", [__version__])
