"""Runs one command and leaves nothing of it behind. Started as a script of its own; standard library only.

The guard stands between us and a server. It ends the server, and whatever the server has started, when
it is told to (SIGTERM, SIGINT, SIGHUP), when the server's first process ends, and, with `--watch-stdin`, when
its standard input closes: the other end of that pipe is held by the process that asked for the server, so
even a kill -9 of that process ends the server too. With `--restarts` a server that fails by itself is started
again, that many times.

Airflow's tasks put themselves into sessions of their own, so ending the process group is not enough: on
Linux the guard adopts orphans (PR_SET_CHILD_SUBREAPER) and ends its whole tree.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
TOLD_TO_END = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
LONGEST_KILL = 10.0


def control_process(option: int, value: int) -> None:
    """Linux's prctl; elsewhere the guard still ends every descendant that it can reach by parent id."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def parents() -> Iterable[tuple[int, int]]:
    """(process, its parent) of every process of this machine."""
    if not os.path.exists("/proc/self/stat"):
        lines = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)
        return [(int(a), int(b)) for a, b in (line.split() for line in lines.stdout.splitlines())]
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                text = Path("/proc", name, "stat").read_text(errors="replace")
            except OSError:
                continue  # ended while we looked
            parent = text.rpartition(")")[2].split()[1]  # the name before may hold anything
            found.append((int(name), int(parent)))
    return found


def descendants(root: int) -> list[int]:
    children = defaultdict(list)
    for process, parent in parents():
        children[parent].append(process)
    found = [root]
    for process in found:
        found += children[process]
    return found[1:]


class Guard:
    def __init__(self, command: list[str], grace: float, watch_stdin: bool) -> None:
        self.command, self.grace = command, grace
        self.wake, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        self.told = False
        for number in TOLD_TO_END:
            signal.signal(number, self._on_signal)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # only to wake the wait below
        control_process(PR_SET_CHILD_SUBREAPER, 1)
        self.watched = [self.wake] + ([sys.stdin.fileno()] if watch_stdin else [])
        self.start()

    def start(self) -> None:
        self.exit_code: int | None = None
        self.child = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=lambda: control_process(PR_SET_PDEATHSIG, signal.SIGTERM),  # noqa: PLW1509 (no threads)
        )

    def _on_signal(self, *_: object) -> None:
        self.told = True

    def _reap(self) -> None:
        """Takes the exit codes of children and adopted orphans."""
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if process == 0:
                return
            if process == self.child.pid:
                self.exit_code = os.waitstatus_to_exitcode(status)

    def _wait(self, longest: float) -> None:
        for ready in select.select(self.watched, [], [], longest)[0]:
            if not os.read(ready, 512) and ready != self.wake:
                self.told = True
                self.watched = [self.wake]

    def _send(self, number: int, processes: Iterable[int]) -> None:
        for process in processes:
            try:
                os.kill(process, number)
            except ProcessLookupError:
                continue

    def _gone_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._reap()
            if not descendants(os.getpid()):
                return True
            self._wait(0.1)
        return False

    def run(self, restarts: int) -> int:
        while (code := self._run_once()) != 0 and restarts and not self.told:
            print(f"guard: ended with {code}, starting it again", flush=True)
            restarts -= 1
            self._wait(1.0)
            self.start()
        return code

    def _run_once(self) -> int:
        while self.exit_code is None and not self.told:
            self._wait(5.0)
            self._reap()
        if self.exit_code is None:
            self._send(signal.SIGTERM, [self.child.pid])
            if self._gone_within(self.grace):
                return 0
        self._send(signal.SIGTERM, descendants(os.getpid()))
        if not self._gone_within(3.0):
            deadline = time.monotonic() + LONGEST_KILL
            while time.monotonic() < deadline:
                self._send(signal.SIGKILL, descendants(os.getpid()))
                if self._gone_within(0.3):
                    break
        return 0 if self.told else (self.exit_code or 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--watch-stdin", action="store_true")
    parser.add_argument("--grace", type=float, default=10.0)
    parser.add_argument("--restarts", type=int, default=0)
    parser.add_argument("command", nargs="+")
    asked = parser.parse_args()
    code = Guard(asked.command, asked.grace, asked.watch_stdin).run(asked.restarts)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
