"""Servers end with whoever asked for them, together with everything they have started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from jobs.local.servers.process import Server, ServerFailed, Servers, is_guard, stop_guard

# A server that ignores SIGTERM, with a grandchild that left its session and lost its parent.
STUBBORN = """
import os, pathlib, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
grandchild = (
    "import os, pathlib, sys, time; pathlib.Path(sys.argv[1]).write_text(str(os.getpid())); time.sleep(600)"
)
child = (
    "import subprocess, sys;"
    "subprocess.Popen([sys.executable, '-c', *sys.argv[1:]], start_new_session=True)"
)
subprocess.run([sys.executable, "-c", child, grandchild, sys.argv[1] + "/grandchild"])
pathlib.Path(sys.argv[1], "server").write_text(str(os.getpid()))
time.sleep(600)
"""
PARENT = """
import os, pathlib, sys, time
from jobs.local.servers.process import Server
folder = pathlib.Path(sys.argv[1])
server = Server.start("stubborn", [sys.executable, "-c", sys.argv[2], sys.argv[1]], log=folder / "log",
                      environment=os.environ, folder=folder, grace=0.5)
(folder / "guard").write_text(str(server.guard.pid))
time.sleep(600)
"""


def wait_for(what: Callable[[], object], longest: float = 120.0) -> None:
    deadline = time.monotonic() + longest
    while not what():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def pid_in(path: Path) -> int:
    wait_for(lambda: path.exists() and path.read_text().strip())
    return int(path.read_text())


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path("/proc", str(pid), "stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def start(folder: Path, *, script: str = STUBBORN, outlive_us: bool = False) -> Server:
    return Server.start(
        "stubborn",
        [sys.executable, "-c", script, str(folder)],
        log=folder / "log",
        environment=os.environ,
        folder=folder,
        outlive_us=outlive_us,
        grace=0.5,
    )


def test_stopping_ends_a_stubborn_server_and_its_orphans(tmp_path: Path) -> None:
    with Servers() as servers:
        servers.add(start(tmp_path))
        server, grandchild = pid_in(tmp_path / "server"), pid_in(tmp_path / "grandchild")
        servers.check()
        assert is_alive(server)
        assert is_alive(grandchild)
    assert not is_alive(server)
    assert not is_alive(grandchild)


def test_an_error_in_the_block_stops_the_servers(tmp_path: Path) -> None:
    def interrupted() -> None:
        with Servers() as servers:
            servers.add(start(tmp_path))
            pid_in(tmp_path / "grandchild")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not is_alive(pid_in(tmp_path / "grandchild"))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killing_the_asking_process_ends_the_server(tmp_path: Path, number: int) -> None:
    root = str(Path(__file__).parents[3])
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path), STUBBORN], cwd=root)
    try:
        pids = [pid_in(tmp_path / name) for name in ("server", "grandchild", "guard")]
    finally:
        parent.send_signal(number)
        parent.wait(120)
    wait_for(lambda: not any(map(is_alive, pids)))


def test_a_server_may_outlive_us_and_is_stopped_by_its_id(tmp_path: Path) -> None:
    server = start(tmp_path, outlive_us=True)
    grandchild = pid_in(tmp_path / "grandchild")
    assert is_guard(server.guard.pid)
    assert stop_guard(server.guard.pid)
    server.guard.wait(120)
    assert not is_alive(grandchild)
    assert not stop_guard(server.guard.pid)


def test_another_process_is_never_taken_for_a_guard() -> None:
    assert not is_guard(os.getpid())
    assert not stop_guard(os.getpid())


def test_a_server_that_ends_while_starting_is_reported_with_its_log(tmp_path: Path) -> None:
    with Servers() as servers:
        server = servers.add(start(tmp_path, script="raise SystemExit('the port is taken')"))
        with pytest.raises(ServerFailed, match="the port is taken"):
            server.wait_until(lambda: False, longest=120)
        with pytest.raises(ServerFailed, match="ended by itself"):
            servers.check()


def test_waiting_for_a_server_has_an_end(tmp_path: Path) -> None:
    with Servers() as servers:
        server = servers.add(start(tmp_path, script="import time; time.sleep(600)"))
        with pytest.raises(ServerFailed, match=r"did not answer within 0 s"):
            server.wait_until(lambda: False, longest=0.2)


def test_a_server_that_fails_is_started_again_but_not_for_ever(tmp_path: Path) -> None:
    script = "import pathlib, sys; pathlib.Path(sys.argv[1], 'tries').open('a').write('x'); sys.exit(3)"
    server = Server.start(
        "falling",
        [sys.executable, "-c", script, str(tmp_path)],
        log=tmp_path / "log",
        environment=os.environ,
        folder=tmp_path,
        restarts=2,
    )
    assert server.guard.wait(120) == 3
    server.wait_stopped()
    assert (tmp_path / "tries").read_text() == "xxx"
    assert "starting it again" in server.end_of_log()
