"""An operator that runs the `farwatch` command."""

from __future__ import annotations

import os
import shlex
import signal
import tempfile
from collections.abc import Mapping, Sequence
from typing import IO, Any

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowTaskTimeout

from farwatch_airflow.commands import ByStandby, OwnProcess
from monitoring_lib.errors import ExitCode
from monitoring_lib.standby import CopyDiedError

ENDINGS = {
    ExitCode.FAILED: "a promise or an expectation failed",
    ExitCode.WRONG_USE: "wrong use or configuration",
    ExitCode.RETRY: "storage or Spark could not be had",
    ExitCode.NOT_NOW: "not now: a gap before this interval, or it is sealed already",
}
REASON = "farwatch: "
"""How the command begins the sentence that says why it failed."""


class FarwatchOperator(BaseOperator):
    """Runs `farwatch` with `arguments`, by the process that stands by or in a process group of its own.

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
        self._running: OwnProcess | ByStandby | None = None
        self._killed = False

    def execute(self, context: Context) -> Any:
        code, output, reason = self._run(self.arguments)
        if output:
            self.log.info("%s", output)  # of an audit, what it comes to
        self._raise_failure(code, reason)
        return output

    def on_kill(self) -> None:
        """Ends the command and all that it has started."""
        self._killed = True
        if self._running is not None:
            self.log.info("Ending farwatch")
            self._running.end()

    def _run(self, arguments: Sequence[str]) -> tuple[int, str, str]:
        """Exit code, last line of standard output, and the command's own words about its failure."""
        command = ["farwatch", *arguments]
        self.log.info("Running %s", shlex.join(command))
        with tempfile.TemporaryFile() as output:
            given = command, os.environ | self.env, self.home, output
            standing_by = ByStandby.begin(*given)
            code, reason = (None, "") if standing_by is None else self._watch(standing_by, arguments[0])
            if code is None:
                code, reason = self._watch(OwnProcess.begin(*given), arguments[0])
            assert code is not None  # a process of its own refuses nothing
            output.seek(0)
            *others, last = output.read().decode(errors="backslashreplace").splitlines() or [""]
        for line in others:
            self.log.info("%s", line)
        if code == 0 and reason:
            self.log.info("%s", reason)
        return code, last, reason

    def _watch(self, running: OwnProcess | ByStandby, name: str) -> tuple[int | None, str]:
        """Exit code, None where the command was refused, and reason."""
        self._running = running
        if self._killed:  # while it was begun
            running.end()
        try:
            reason = self._log_lines(running.errors)
            return running.wait(), reason
        except CopyDiedError as error:
            return ExitCode.RETRY, str(error)
        except AirflowTaskTimeout:
            self.on_kill()
            raise AirflowFailException(
                f"farwatch {name} took longer than {self.execution_timeout} and was ended"
            ) from None
        finally:
            self._running = None
            running.errors.close()

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
