"""Steps done by a process that stands by: to the caller they are the command itself."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from jobs.command.standby_copy import changed_since
from jobs.local.servers import standby
from jobs.local.servers.process import Server
from monitoring_lib.standby import STANDBY, connect
from tests.jobs.pipeline.deployment import Deployment

FARWATCH = Path(sys.executable).with_name("farwatch")
ARGUMENTS = ["--source", "shop", "--from", "2020-01-01T00:00", "--to", "2020-01-01T01:00"]
PATIENCE = 240.0


def wait_for(ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    return Deployment(tmp_path_factory.mktemp("standby"))


@pytest.fixture(scope="module")
def standing_by(home: Deployment) -> Iterator[tuple[Server, dict[str, str]]]:
    # Far longer than a socket's path may be.
    server, ready = standby.begin(home.home / ("deep" * 30) / "standby", {})
    wait_for(lambda: Path(ready[STANDBY]).exists())
    yield server, ready
    server.tell_to_stop()
    server.wait_stopped()


@pytest.fixture
def environment(home: Deployment, standing_by: tuple[Server, dict[str, str]]) -> dict[str, str]:
    named = {"FARWATCH_HOME": str(home.home), "FARWATCH_CONF": str(home.home / "conf")}
    return os.environ | named | standing_by[1]


def test_a_stand_by_serves_its_owner_only(standing_by: tuple[Server, dict[str, str]]) -> None:
    assert Path(standing_by[1][STANDBY]).stat().st_mode & 0o077 == 0


def farwatch(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(FARWATCH), *arguments], env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def test_a_step_gives_the_same_streams_and_exit_code_with_and_without_a_stand_by(environment: dict[str, str]) -> None:
    alone = {name: value for name, value in environment.items() if name != STANDBY}
    for arguments in (["gate", *ARGUMENTS], ["resolve", *ARGUMENTS], ["land", "--source", "shop"]):
        with_one, without = farwatch(environment, *arguments), farwatch(alone, *arguments)
        assert with_one.returncode == without.returncode
        assert with_one.stderr == without.stderr
        assert with_one.stdout.count("\n") == without.stdout.count("\n")
    assert farwatch(environment, "gate", *ARGUMENTS).returncode == 0
    assert farwatch(environment, "resolve", *ARGUMENTS).returncode == 2


def test_what_a_step_prints_may_go_into_a_pipe(environment: dict[str, str]) -> None:
    asked = farwatch(environment, "query", "--json", "--sql", "select 1 as one")
    assert asked.returncode == 0, asked.stderr
    assert json.loads(asked.stdout)


def test_a_copy_does_the_next_step_of_the_same_environment(
    environment: dict[str, str], standing_by: tuple[Server, dict[str, str]]
) -> None:
    server, _ = standing_by
    own = environment | {"FARWATCH_TEST": "the same"}
    assert farwatch(own, "gate", *ARGUMENTS).returncode == 0
    first = copies(server)
    assert farwatch(own | {"AIRFLOW_CTX_TASK_ID": "gate"}, "gate", *ARGUMENTS).returncode == 0
    assert copies(server) == first
    assert farwatch(own | {"FARWATCH_TEST": "another"}, "gate", *ARGUMENTS).returncode == 0
    assert len(copies(server)) == len(first) + 1


def test_a_copy_ends_after_a_step_that_failed(
    environment: dict[str, str], standing_by: tuple[Server, dict[str, str]]
) -> None:
    server, _ = standing_by
    own = environment | {"FARWATCH_TEST": "it fails"}
    before = copies(server)
    assert farwatch(own, "resolve", *ARGUMENTS).returncode == 2
    wait_for(lambda: set(copies(server)) <= set(before))


def test_an_idle_copy_that_was_killed_is_not_missed(
    environment: dict[str, str], standing_by: tuple[Server, dict[str, str]]
) -> None:
    server, _ = standing_by
    own = environment | {"FARWATCH_TEST": "killed"}
    before = copies(server)
    assert farwatch(own, "gate", *ARGUMENTS).returncode == 0
    [idle] = set(copies(server)) - set(before)
    idle.send_signal(signal.SIGKILL)
    wait_for(lambda: idle not in copies(server))
    assert farwatch(own, "gate", *ARGUMENTS).returncode == 0


def test_a_caller_that_goes_before_it_has_said_what_it_wants_does_no_harm(
    environment: dict[str, str], standing_by: tuple[Server, dict[str, str]]
) -> None:
    before = psutil.Process(standing_by[0].guard.pid).children()
    for said in (b"", b"\x10\0", b"\x10\0\0\0{"):
        with socket.socket(socket.AF_UNIX) as caller:
            connect(caller, standing_by[1][STANDBY])
            caller.sendall(said)
    assert farwatch(environment, "gate", *ARGUMENTS).returncode == 0
    assert psutil.Process(standing_by[0].guard.pid).children() == before


def test_a_step_needs_no_stand_by(environment: dict[str, str], tmp_path: Path) -> None:
    nobody = environment | {STANDBY: str(tmp_path / "standby.sock")}
    assert farwatch(nobody, "gate", *ARGUMENTS).returncode == 0


def copies(server: Server) -> list[psutil.Process]:
    """The processes that do a step now, or wait for one: all below the stand-by itself."""
    [own] = psutil.Process(server.guard.pid).children()
    return [child for child in own.children() if child.status() != psutil.STATUS_ZOMBIE]


def waiting_step(
    environment: dict[str, str], home: Deployment, server: Server
) -> tuple[subprocess.Popen[bytes], psutil.Process]:
    """The caller and the copy of a step that cannot end: its configuration is a pipe that nobody writes to."""
    conf = home.home / "waiting" / "base"
    if not conf.exists():
        conf.mkdir(parents=True)
        os.mkfifo(conf / "farwatch.yml")
    named, before = {"FARWATCH_CONF": str(conf.parent)}, copies(server)
    caller = subprocess.Popen([str(FARWATCH), "gate", *ARGUMENTS], env=environment | named, stderr=subprocess.PIPE)
    wait_for(lambda: set(copies(server)) > set(before))
    [copy] = set(copies(server)) - set(before)
    return caller, copy


def test_a_step_ends_with_its_caller(
    environment: dict[str, str], home: Deployment, standing_by: tuple[Server, dict[str, str]]
) -> None:
    server, _ = standing_by
    caller, copy = waiting_step(environment, home, server)
    caller.kill()
    caller.communicate()
    wait_for(lambda: copy not in copies(server))
    assert farwatch(environment, "gate", *ARGUMENTS).returncode == 0


def test_a_step_whose_process_dies_is_worth_trying_again(
    environment: dict[str, str], home: Deployment, standing_by: tuple[Server, dict[str, str]]
) -> None:
    server, _ = standing_by
    caller, copy = waiting_step(environment, home, server)
    copy.send_signal(signal.SIGKILL)
    said = caller.communicate(timeout=PATIENCE)[1].decode()
    assert caller.returncode == 3
    assert "try again" in said


def test_a_stand_by_knows_that_its_code_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "module.py"
    file.write_text("")
    code = {str(file): os.stat(file).st_mtime_ns}
    assert changed_since(code) == code
    os.utime(file, ns=(1, 1))
    assert changed_since(code) != code
    file.unlink()
    assert changed_since(code) != code
