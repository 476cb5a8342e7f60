"""`farwatch doctor`: each thing that can be wrong is named with what to do, and nothing else is."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs.command import doctor, examination
from jobs.lake.upkeep import alone
from monitoring_lib.errors import ExitCode

SOURCE = "format: csv\npath: data/*.csv\ncolumns: {time: time, site: site}\nepoch: 1h\norigin: 2026-01-01\n"
Look = Callable[[], dict[str, Any]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "conf" / "base" / "sources").mkdir(parents=True)
    (tmp_path / "conf" / "base" / "sources" / "cdn.yml").write_text(SOURCE)
    for name in list(os.environ):
        if name.startswith("FARWATCH_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("FARWATCH_HOME", str(tmp_path))
    monkeypatch.setenv("FARWATCH_CONF", str(tmp_path / "conf"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    java(tmp_path, "echo 'openjdk version \"17.0.9\"' >&2")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    return tmp_path


def java(home: Path, script: str) -> None:
    (home / "bin").mkdir(exist_ok=True)
    (home / "bin" / "java").write_text(f"#!/bin/sh\n{script}\n")
    (home / "bin" / "java").chmod(0o755)


@pytest.fixture
def look(home: Path, capsys: pytest.CaptureFixture[str]) -> Look:
    """What is wrong, by subject, and the exit code."""

    def run() -> dict[str, Any]:
        code = doctor.run(as_json=True)
        found = json.loads(capsys.readouterr().out)
        wrong = {line["subject"]: line for line in found["lines"] if not line["well"]}
        assert found["well"] == (not wrong) == (code == ExitCode.DONE)
        return wrong

    return run


def test_on_a_machine_that_was_set_up_all_is_well(look: Look) -> None:
    assert look() == {}


def test_the_lines_are_for_people(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    java(home, "echo 'openjdk version \"11.0.2\"' >&2")
    assert doctor.run() == ExitCode.FAILED
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"WRONG Java: {home / 'bin' / 'java'} is Java 11; install Java 17, or set JAVA_HOME"
    assert all(line.startswith("ok    ") for line in lines[1:])


def test_a_java_that_says_nothing_is_named(home: Path, look: Look) -> None:
    java(home, "true")
    assert "does not say its version" in look()["Java"]["says"]


def test_missing_jars_and_other_versions_lead_to_the_set_up(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.prefix", "/nowhere")
    monkeypatch.setattr(examination.metadata, "version", lambda name: "0.0.1")
    wrong = look()
    assert "/nowhere" in wrong["Delta jars"]["says"]
    assert "numpy is 0.0.1, not ==" in wrong["packages"]["says"]
    assert all("make setup" in line["remedy"] for line in wrong.values())


def test_a_faulty_configuration_ends_the_look_with_the_command_that_names_the_faults(home: Path, look: Look) -> None:
    (home / "conf" / "base" / "sources" / "cdn.yml").write_text(SOURCE + "unknown: 1\n")
    assert look()["configuration"]["remedy"] == "`farwatch check-config` names every fault"


def test_a_full_disk_and_a_clock_that_differs_are_told(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "LEAST_FREE", 1 << 62)
    monkeypatch.setattr(examination, "MOST_SKEW", -1.0)
    wrong = look()
    assert {"disk of coordinator", "disk of sites", "clock of coordinator", "clock of sites"} <= set(wrong)


def test_a_server_that_does_not_answer_is_told(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FARWATCH_SPARK_REMOTE", "sc://127.0.0.1:1")
    assert "no Connect server answers at sc://127.0.0.1:1" in look()["Spark"]["says"]


def test_servers_that_ended_and_a_password_that_others_read_are_told(home: Path, look: Look) -> None:
    password = home / "passwords.json"
    password.write_text("{}")
    password.chmod(0o644)
    record = {"url": "http://127.0.0.1:1", "password_file": str(password), "guards": {"airflow": 2**22 - 1}}
    (home / "var").mkdir()
    (home / "var" / "up.json").write_text(json.dumps(record))
    wrong = look()
    assert wrong["port"]["says"] == "nothing answers at http://127.0.0.1:1"
    assert wrong["servers"]["remedy"] == "run `farwatch down`, then `farwatch up`"
    assert wrong["password"]["remedy"] == f"chmod 600 {password}"


def test_a_damaged_table_is_named(home: Path, look: Look) -> None:
    log = home / "var" / "coordinator" / "epochs" / "_delta_log"
    log.mkdir(parents=True)
    (log / "00000000000000000000.json").write_text("not a log\n")
    assert "epochs" in look()["table epochs"]["says"]


def test_everything_that_can_be_wrong_has_a_line(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    doctor.run(as_json=True)
    subjects = {line["subject"] for line in json.loads(capsys.readouterr().out)["lines"]}
    assert subjects >= {
        "Java", "Delta jars", "packages", "configuration", "disk of coordinator", "disk of sites",
        "clock of coordinator", "clock of sites", "Spark", "token", "port", "servers", "locks", "tables", "chains",
    }  # fmt: skip


def test_a_token_that_others_read_or_that_is_gone_is_told(
    home: Path, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = home / "token"
    monkeypatch.setenv("FARWATCH_SPARK_REMOTE", f"sc://localhost:1/;token_file={place}")
    assert look()["token"]["says"] == f"{place} is not there"
    place.write_text("secret")
    place.chmod(0o644)
    wrong = look()["token"]
    assert wrong["remedy"] == f"chmod 600 {place}, then start the server again"
    assert "secret" not in str(wrong)


def test_a_lock_that_is_held_for_long_is_told(home: Path, look: Look) -> None:
    folder = home / "var" / "coordinator" / "epochs"
    folder.mkdir(parents=True)
    with alone(str(folder)) as ours:
        assert ours
        assert "locks" not in look()
        os.utime(folder / "_rewriting", (1, 1))
        assert look()["locks"]["says"] == "the table epochs is being rewritten since 1970-01-01T00:00:01Z"
    assert "locks" not in look()
