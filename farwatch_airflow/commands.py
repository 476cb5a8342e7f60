"""A `farwatch` command that runs: by the process that stands by, where there is one, else in a process of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from airflow.sdk.exceptions import AirflowFailException

from monitoring_lib.standby import SERVED, STANDBY, CopyDiedError, answer, hand_over

GRACE = 10.0
"""Seconds between asking a command to end and ending it."""


@dataclass
class OwnProcess:
    """In a process group of its own; no shell is involved. `errors` is what it says on standard error, as it comes."""

    process: subprocess.Popen[bytes]
    errors: IO[bytes]

    @classmethod
    def begin(
        cls, command: Sequence[str], environment: Mapping[str, str], folder: str, output: IO[bytes]
    ) -> OwnProcess:  # fmt: skip
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.PIPE,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise AirflowFailException(f"the command `{command[0]}` could not be started: {error}") from error
        assert process.stderr is not None
        return cls(process, process.stderr)

    def wait(self) -> int:
        return self.process.wait()

    def end(self) -> None:
        """Ends it and all that it has started."""
        process = self.process
        if process.poll() is not None:
            return
        os.killpg(process.pid, signal.SIGTERM)
        deadline = time.monotonic() + GRACE
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        with contextlib.suppress(ProcessLookupError):  # no member of the group is left
            os.killpg(process.pid, signal.SIGKILL)


@dataclass
class ByStandby:
    """By a copy of the process that stands by, which ends when the line to it does."""

    line: socket.socket
    errors: IO[bytes]
    ended: bool = False

    @classmethod
    def begin(
        cls, command: Sequence[str], environment: Mapping[str, str], folder: str, output: IO[bytes]
    ) -> ByStandby | None:  # fmt: skip
        """None where nobody stands by for this command."""
        address = environment.get(STANDBY)
        if not address or command[1] not in SERVED:
            return None
        reading, writing = os.pipe()
        with open(os.devnull, "rb") as nothing, open(writing, "wb") as said, contextlib.ExitStack() as unread:
            errors = unread.enter_context(open(reading, "rb"))
            streams = (nothing.fileno(), output.fileno(), said.fileno())
            line = hand_over(address, command, environment, folder, streams)
            if line is None:
                return None
            unread.pop_all()
        return cls(line, errors)

    def wait(self) -> int | None:
        """The exit code; None where the copy has refused, because the code on disk is no longer its own."""
        with self.line:
            try:
                return answer(self.line)
            except CopyDiedError:
                if self.ended:
                    return -signal.SIGTERM
                raise

    def end(self) -> None:
        if self.line.fileno() >= 0:
            self.ended = True
            self.line.shutdown(socket.SHUT_RDWR)
