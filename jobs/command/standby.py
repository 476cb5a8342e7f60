"""A process that stands by with everything imported and has steps done by copies of itself.

A step's imports take longer than most steps. A copy, made by a fork, takes over the caller's standard streams,
environment, folder and arguments (`jobs.command.standby_copy`), so that to the caller it is the command itself. A copy
that has done a step waits a while for another one in the same environment: it has in memory what every step needs.
Nothing that must not be forked (a table, a channel to Spark) is opened before the fork.
"""

from __future__ import annotations

import gc
import json
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from jobs.command.standby_copy import StepRequest, loaded_code, serve_steps

_SIZE = 4
"""Bytes that say how long a request is."""
_PATIENCE = 10.0
"""Seconds that a caller may take to say what it wants."""
_LONGEST_IDLE = 30.0
"""Seconds that a copy waits for another step: those of an epoch follow each other within two or three."""
_OF_THE_CALL = ("AIRFLOW_CTX_", "PWD", "OLDPWD", "SHLVL", "_")
"""Beginnings of variables that may differ from step to step: nothing that a copy keeps depends on them."""


def serve(name: str) -> None:
    """Listens at `name` in the current folder, to its owner alone, for as long as the process lives."""
    import_all()
    copies = _Copies(loaded_code())
    gc.collect()
    gc.freeze()  # what is never collected is never copied
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the copies
    Path(f"{name}.new").unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as door:
        usual = os.umask(0o077)
        door.bind(f"{name}.new")
        os.umask(usual)
        door.listen()
        Path(f"{name}.new").rename(name)  # whoever sees it is answered
        copies.look.register(door, selectors.EVENT_READ)
        while True:
            for ready, _ in copies.look.select(_LONGEST_IDLE):
                if ready.data is None:
                    copies.take(door)
                else:
                    copies.hear(ready.data)
            copies.dismiss()


@dataclass(eq=False)
class _Copy:
    """A copy as the stand-by sees it: how it is reached, for which environment, and since when it has been idle."""

    line: socket.socket
    environment: Mapping[str, str]
    idle_since: float | None = None


@dataclass
class _Copies:
    code: Mapping[str, int]
    alive: list[_Copy] = field(default_factory=list)
    look: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)

    def take(self, door: socket.socket) -> None:
        """Hands a caller's request to a copy that is idle, or to a new one."""
        caller, _ = door.accept()
        with caller:
            caller.settimeout(_PATIENCE)
            try:
                request = _received(caller)
                caller.settimeout(None)  # the copy shares it
            except (OSError, ValueError):
                return  # the caller has gone
            kept = _kept_part(request.environment)
            for copy in [copy for copy in self.alive if copy.idle_since is not None and copy.environment == kept]:
                copy.idle_since = None
                try:
                    request.send(copy.line)
                except OSError:
                    self._forget(copy)
                else:
                    break
            else:
                request.send(self._fork(door, caller, request, kept))
            request.close_streams()

    def hear(self, copy: _Copy) -> None:
        """A copy says that it is idle, or has ended."""
        said = b""
        with suppress(OSError):
            said = copy.line.recv(1)
        if said:
            copy.idle_since = time.monotonic()
        else:
            self._forget(copy)

    def dismiss(self) -> None:
        """Ends copies that have been idle for long: a copy ends when its line does."""
        now = time.monotonic()
        for copy in [copy for copy in self.alive if copy.idle_since is not None]:
            if now - copy.idle_since > _LONGEST_IDLE:  # type: ignore[operator]  # it is not None
                self._forget(copy)

    def _forget(self, copy: _Copy) -> None:
        self.look.unregister(copy.line)
        copy.line.close()
        self.alive.remove(copy)

    def _fork(
        self, door: socket.socket, caller: socket.socket, request: StepRequest, kept: Mapping[str, str]
    ) -> socket.socket:  # fmt: skip
        ours, theirs = socket.socketpair()
        if not os.fork():
            self.look.close()
            for other in (door, caller, ours, *(copy.line for copy in self.alive)):
                other.close()
            request.close_streams()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            serve_steps(theirs, self.code)
        theirs.close()
        copy = _Copy(ours, kept)
        self.alive.append(copy)
        self.look.register(ours, selectors.EVENT_READ, copy)
        return ours


def _received(caller: socket.socket) -> StepRequest:
    """What a caller wants; OSError or ValueError where it has gone before it had said so."""
    head, streams, _, _ = socket.recv_fds(caller, _SIZE, 3)
    try:
        with caller.makefile("rb") as sent:
            wanted = json.loads(sent.read(int.from_bytes(head, "little")))
        return StepRequest(os.dup(caller.fileno()), streams, **wanted)
    except (OSError, ValueError):
        for stream in streams:
            os.close(stream)
        raise


def _kept_part(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith(_OF_THE_CALL)}


def import_all() -> None:
    """Everything that a step imports on its way, and what a process makes only once."""
    for name in (
        "jobs.command.cli",
        "jobs.command.run",
        "pyarrow.acero",
        "pyspark.sql.connect.session",
        "pyspark.sql.functions",
        "rich.console",
    ):
        import_module(name)
    import pandas as pd

    from jobs.command.cli import command
    from jobs.epoch.context import Context
    from jobs.quality.validation import Check, broken_checks
    from monitoring_lib.errors import FarwatchError
    from monitoring_lib.hashing import hash_text
    from monitoring_lib.protocols import methods

    command()
    methods()
    broken_checks(pd.DataFrame({"a": [0]}), [Check("a", "ExpectColumnToExist", {"column": "a"})])
    hash_text("")  # the first compiled function that a process calls costs it a quarter of a second
    with suppress(FarwatchError):  # a step says what is wrong
        Context.from_environment()


if __name__ == "__main__":
    serve(sys.argv[1])
