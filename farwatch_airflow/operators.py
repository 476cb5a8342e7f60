"""An operator that runs the `farwatch` command."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowTaskTimeout

from monitoring_lib.errors import ExitCode

ENDINGS = {
    ExitCode.FAILED: "a promise or an expectation failed",
    ExitCode.WRONG_USE: "wrong use or configuration",
    ExitCode.RETRY: "storage or Spark could not be had",
    ExitCode.NOT_NOW: "not now: a gap before this interval, or it is sealed already",
}
REASON = "farwatch: "
"""How the command begins the sentence that says why it failed."""
GRACE = 10.0
"""Seconds between asking a command to end and ending it."""


class FarwatchOperator(BaseOperator):
    """Runs `farwatch` with `arguments` in a process group of its own; no shell is involved.

    What the command says on standard error is logged as it comes. The last line of its standard output is the result.
    A failure raises the sentence with which the command explained itself, so that it stands in the log once, and last:
    as AirflowException, which Airflow may try again, for exit code 3 and for a command that a signal ended (the system
    was out of memory, the scheduler was stopped); as AirflowFailException for any other, and where the command took
    longer than the task's timeout.
    """

    template_fields: Sequence[str] = ("arguments",)

    def __init__(
        self, *, arguments: Sequence[str] = (), home: str, env: Mapping[str, str] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.arguments = list(arguments)
        self.home = home
        self.env = dict(env or {})
        self._process: subprocess.Popen[bytes] | None = None

    def execute(self, context: Context) -> Any:
        code, output, reason = self._run(self.arguments)
        if output:
            self.log.info("%s", output)  # of an audit, what it comes to
        self._raise_failure(code, reason)
        return output

    def on_kill(self) -> None:
        """Ends the command and all that it has started."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        self.log.info("Ending the process group %s", process.pid)
        os.killpg(process.pid, signal.SIGTERM)
        deadline = time.monotonic() + GRACE
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        with contextlib.suppress(ProcessLookupError):  # no member of the group is left
            os.killpg(process.pid, signal.SIGKILL)

    def _run(self, arguments: Sequence[str]) -> tuple[int, str, str]:
        """Exit code, last line of standard output, and the command's own words about its failure."""
        command = ["farwatch", *arguments]
        self.log.info("Running %s", shlex.join(command))
        with tempfile.TemporaryFile() as output:
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.PIPE,
                    cwd=self.home,
                    env=os.environ | self.env,
                    start_new_session=True,
                )
            except OSError as error:
                raise AirflowFailException(f"the command `farwatch` could not be started: {error}") from error
            try:
                assert self._process.stderr is not None
                reason = self._log_lines(self._process.stderr)
                code = self._process.wait()
            except AirflowTaskTimeout:
                self.on_kill()
                raise AirflowFailException(
                    f"farwatch {arguments[0]} took longer than {self.execution_timeout} and was ended"
                ) from None
            finally:
                self._process.stderr.close()
            output.seek(0)
            *others, last = output.read().decode(errors="backslashreplace").splitlines() or [""]
        for line in others:
            self.log.info("%s", line)
        if code == 0 and reason:
            self.log.info("%s", reason)
        return code, last, reason

    def _log_lines(self, said: IO[bytes]) -> str:
        """Logs each line as it comes, but holds back the last sentence about a failure and what follows it."""
        held: list[str] = []
        for raw in said:
            line = raw.decode(errors="backslashreplace").rstrip()
            if line.startswith(REASON):
                for earlier in held:
                    self.log.info("%s", earlier)
                held = [line.removeprefix(REASON)]
            elif held:
                held.append(line)
            else:
                self.log.info("%s", line)
        return "\n".join(held)

    def _raise_failure(self, code: int, reason: str) -> None:
        if code == 0:
            return
        if code < 0:
            ending = f"was ended by {signal.Signals(-code).name}"
        else:
            ending = f"ended with exit code {code} ({ENDINGS.get(code, 'see the log above')})"
        kind = AirflowException if code < 0 or code == ExitCode.RETRY else AirflowFailException
        raise kind(f"farwatch {ending}" + (f": {reason}" if reason else ""))
