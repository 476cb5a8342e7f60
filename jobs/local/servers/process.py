"""Starting, probing and stopping a server on this machine, each behind a guard that leaves nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from jobs.spark.options import LOOPBACK
from monitoring_lib.errors import Transient

GUARD = Path(__file__).with_name("guard.py")
LONGEST_STOP = 40.0
LINES_OF_LOG = 15


class ServerFailed(Transient):
    """A server did not start, did not answer in time, or ended by itself."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def accepts_connections(port: int) -> bool:
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1.0):
            return True
    except OSError:
        return False


@dataclass
class Server:
    """A running server: its guard's process id, and the log that both write."""

    name: str
    guard: subprocess.Popen[bytes]
    log: Path
    grace: float

    @classmethod
    def start(
        cls,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str],
        folder: Path,
        outlive_us: bool = False,
        grace: float = 10.0,
        restarts: int = 0,
    ) -> Server:
        """Starts `command`; unless it is to outlive us, it ends with this process, however that ends.

        A server that fails by itself is started again up to `restarts` times.
        """
        log.parent.mkdir(parents=True, exist_ok=True)
        guard = [sys.executable, "-I", "-S", str(GUARD), "--grace", str(grace), "--restarts", str(restarts)]
        if not outlive_us:
            guard.append("--watch-stdin")
        with log.open("ab") as output:
            process = subprocess.Popen(
                [*guard, "--", *command],
                stdin=subprocess.DEVNULL if outlive_us else subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                cwd=folder,
                start_new_session=True,  # a Ctrl-C in the terminal is ours to handle, in order
            )
        return cls(name, process, log, grace)

    @property
    def is_running(self) -> bool:
        return self.guard.poll() is None

    def wait_until(self, ready: Callable[[], bool], longest: float) -> None:
        deadline = time.monotonic() + longest
        while not ready():
            if not self.is_running:
                raise ServerFailed(f"{self.name} ended while starting; {self.log} says:\n{self.end_of_log()}")
            if time.monotonic() > deadline:
                said = f"{self.log} says:\n{self.end_of_log()}"
                raise ServerFailed(f"{self.name} did not answer within {longest:.0f} s; {said}")
            time.sleep(0.1)

    def end_of_log(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-LINES_OF_LOG:])

    def tell_to_stop(self) -> None:
        if self.is_running:
            self.guard.terminate()

    def wait_stopped(self) -> None:
        try:
            self.guard.wait(self.grace + LONGEST_STOP)
        except subprocess.TimeoutExpired:
            self.guard.kill()
            raise ServerFailed(f"{self.name} (process {self.guard.pid}) could not be stopped") from None
        finally:
            if self.guard.stdin is not None:
                self.guard.stdin.close()


class Servers:
    """The servers of one command; leaving the block stops them all, whatever ended it."""

    def __init__(self) -> None:
        self.started: list[Server] = []

    def add(self, server: Server) -> Server:
        self.started.append(server)
        return server

    def check(self) -> None:
        for server in self.started:
            if not server.is_running:
                raise ServerFailed(f"{server.name} ended by itself; {server.log} says:\n{server.end_of_log()}")

    def finish(self, server: Server, longest: float) -> None:
        """Waits for one that is to end by itself, and well."""
        try:
            code = server.guard.wait(longest)
        except subprocess.TimeoutExpired:
            raise ServerFailed(f"{server.name} did not end within {longest:.0f} s; see {server.log}") from None
        self.started.remove(server)
        server.wait_stopped()
        if code != 0:
            raise ServerFailed(f"{server.name} failed; {server.log} says:\n{server.end_of_log()}")

    def stop(self) -> None:
        for server in reversed(self.started):
            server.tell_to_stop()
        faults = []
        while self.started:
            try:
                self.started.pop().wait_stopped()
            except ServerFailed as error:
                faults.append(str(error))
        if faults:
            raise ServerFailed("; ".join(faults))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def stop_guard(pid: int, longest: float = 10.0 + LONGEST_STOP) -> bool:
    """Ends a server that outlived its starter, by its guard's process id; False where it was gone already."""
    if not is_guard(pid):
        return False
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return False  # it ended while we looked
    deadline = time.monotonic() + longest
    while is_guard(pid):
        if time.monotonic() > deadline:
            raise ServerFailed(f"process {pid} did not end within {longest:.0f} s")
        time.sleep(0.1)
    return True


def is_guard(pid: int) -> bool:
    """Whether `pid` is a running guard: ids are used again, and another's process is not ours to end."""
    details = Path("/proc", str(pid))
    try:
        if details.parent.joinpath("self").exists():
            # A process that has ended but was not waited for has no arguments any more.
            return str(GUARD) in details.joinpath("cmdline").read_text(errors="replace").split("\0")
        asked = ["ps", "-p", str(pid), "-o", "args="]
        return str(GUARD) in subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    except OSError:
        return False
