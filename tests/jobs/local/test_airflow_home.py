"""An AIRFLOW_HOME of our making, before anything of Airflow runs."""

from __future__ import annotations

import configparser
import json
import stat
from pathlib import Path

import pytest

from jobs.local.servers import airflow_server


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> airflow_server.AirflowHome:
    monkeypatch.setenv("AIRFLOW__CORE__LOAD_EXAMPLES", "True")
    return airflow_server.prepare(tmp_path / "airflow", tmp_path / "dags", {"FARWATCH_HOME": "/somewhere"})


def test_only_its_owner_reads_settings_and_password(home: airflow_server.AirflowHome) -> None:
    for name in ("airflow.cfg", "passwords.json"):
        assert stat.S_IMODE((home.folder / name).stat().st_mode) == 0o600
    assert stat.S_IMODE(home.folder.stat().st_mode) == 0o700
    assert json.loads((home.folder / "passwords.json").read_text()) == {"admin": home.password}


def test_it_listens_on_loopback_and_loads_no_examples(home: airflow_server.AirflowHome) -> None:
    settings = configparser.RawConfigParser()
    settings.read(home.folder / "airflow.cfg")
    assert settings["api"]["host"] == "127.0.0.1"
    assert settings["core"]["load_examples"] == "False"
    assert settings["core"]["executor"] == "LocalExecutor"
    assert settings["core"]["execution_api_server_url"] == f"{home.url}/execution/"


def test_tasks_see_what_they_are_given_and_nothing_of_another_airflow(
    home: airflow_server.AirflowHome,
) -> None:
    assert home.environment["FARWATCH_HOME"] == "/somewhere"
    assert home.environment["AIRFLOW_HOME"] == str(home.folder)
    assert not [name for name in home.environment if name.startswith("AIRFLOW__")]


def test_a_password_is_not_shown_by_accident(home: airflow_server.AirflowHome) -> None:
    assert home.password not in repr(home.api)
    assert home.password not in repr(home)


def test_a_home_that_was_used_before_keeps_its_secrets(home: airflow_server.AirflowHome, tmp_path: Path) -> None:
    before = (home.folder / "airflow.cfg").read_text()
    again = airflow_server.prepare(home.folder, tmp_path / "dags", {}, port=home.port)
    assert again.password == home.password
    assert (home.folder / "airflow.cfg").read_text() == before


def test_two_homes_do_not_share_secrets(home: airflow_server.AirflowHome, tmp_path: Path) -> None:
    other = airflow_server.prepare(tmp_path / "other", tmp_path / "dags", {})
    assert other.password != home.password
    texts = [(one.folder / "airflow.cfg").read_text() for one in (home, other)]
    secrets = [[line for line in text.splitlines() if "secret" in line or "fernet" in line] for text in texts]
    assert len(secrets[0]) == 3
    assert not set(secrets[0]) & set(secrets[1])
